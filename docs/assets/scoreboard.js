// Filters of the scoreboard. Without this file the whole table is shown as built. The filters are
// stored in the address, so that they can be linked to.
const WORDS = ["failed", "known", "passed"]
const table = document.getElementById("scoreboard")
const controls = document.getElementById("scoreboard-controls")
const said = document.getElementById("scoreboard-said")
const rows = [...table.tBodies[0].rows]
const pieces = rows.map(row =>
  [...row.querySelectorAll(".piece")].map(piece => ({
    piece,
    scheme: new URL(piece.href).hash.slice(1),
    counts: JSON.parse(piece.dataset.counts),
  })),
)
const every = pieces.flat()
const asked = new URLSearchParams(location.search)
const lists = {}

function choice(name, label, all, values) {
  const box = document.createElement("label")
  const list = document.createElement("select")
  for (const [value, text] of [["", all], ...values]) list.add(new Option(text, value))
  list.value = asked.get(name) ?? ""
  if (list.selectedIndex < 0) list.value = ""
  box.append(`${label} `, list)
  controls.append(box)
  list.addEventListener("change", show)
  lists[name] = list
}

const sorted = values => [...new Set(values)].sort().map(value => [value, value])
const dtypes = every.flatMap(({ counts }) => Object.keys(counts)).filter(name => name !== "all")

choice("scheme", "Scheme", "all", sorted(every.map(({ scheme }) => scheme)))
choice("dtype", "Dtype", "all", sorted(dtypes))
choice("language", "Language", "all", sorted(rows.map(row => row.dataset.language)))
choice("found", "Found", "anything", [["failed", "failures"], ["known", "known failures"], ["clean", "nothing wrong"]])

// Shows a piece for the chosen dtype, and returns its counts; null if the filters exclude it.
function shown({ piece, scheme, counts }) {
  const found = counts[lists.dtype.value || "all"]
  const chosen = found && (!lists.scheme.value || lists.scheme.value === scheme)
  piece.parentElement.hidden = !chosen
  if (!chosen) return null
  const n = found.findIndex((count, n) => n < WORDS.length && count)
  piece.className = `piece ${WORDS[n] ?? "unjudged"}`
  piece.querySelector("span").textContent = ["✗", "!", "✓"][n] ?? "–"
  const words = WORDS.map((word, n) => found[n] && `${found[n]} ${word}`).filter(Boolean)
  const reach = found[3] ? ", to 2" : ""
  const small = piece.querySelector("small")
  small.textContent = ` ${words.join(", ")}${reach}`
  if (reach) small.append(Object.assign(document.createElement("sup"), { textContent: Math.floor(Math.log2(found[3])) }))
  return found
}

function show() {
  let left = 0
  rows.forEach((row, n) => {
    const found = pieces[n].map(shown).filter(Boolean)
    const [failed, known] = [0, 1].map(k => found.some(counts => counts[k]))
    const fits = { "": true, failed, known, clean: !failed && !known }[lists.found.value]
    const spoken = !lists.language.value || lists.language.value === row.dataset.language
    row.hidden = !found.length || !fits || !spoken
    left += !row.hidden
  })
  table.classList.toggle("counted", Boolean(lists.scheme.value))
  said.textContent = `${left} of ${rows.length} rows`
  const address = new URL(location)
  for (const [name, { value }] of Object.entries(lists)) {
    if (value) address.searchParams.set(name, value)
    else address.searchParams.delete(name)
  }
  history.replaceState(history.state, "", address)
}

controls.hidden = false
show()
