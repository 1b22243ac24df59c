// Filters of the table of libraries: by scheme, dtype, language and what was found.
import { filters, sorted } from "./board.js"

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
const { choice, start } = filters(controls, said, show)
const dtypes = every.flatMap(({ counts }) => Object.keys(counts)).filter(name => name !== "all")

choice("scheme", "Scheme", "all", sorted(every.map(({ scheme }) => scheme)))
choice("dtype", "Dtype", "all", sorted(dtypes))
choice("language", "Language", "all", sorted(rows.map(row => row.dataset.language)))
choice("found", "Found", "anything", [["failed", "failures"], ["known", "known failures"], ["clean", "nothing wrong"]])

// Shows a piece for the chosen dtype, and returns its counts; null if the filters exclude it.
function shown({ piece, scheme, counts }, asked) {
  const found = counts[asked.dtype || "all"]
  const chosen = found && (!asked.scheme || asked.scheme === scheme)
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

function show(asked) {
  let left = 0
  rows.forEach((row, n) => {
    const found = pieces[n].map(piece => shown(piece, asked)).filter(Boolean)
    const [failed, known] = [0, 1].map(k => found.some(counts => counts[k]))
    const fits = { "": true, failed, known, clean: !failed && !known }[asked.found]
    const spoken = !asked.language || asked.language === row.dataset.language
    row.hidden = !found.length || !fits || !spoken
    left += !row.hidden
  })
  table.classList.toggle("counted", Boolean(asked.scheme))
  return `${left} of ${rows.length} rows`
}

start()
