// Sorts and filters the scoreboard. Without this file the whole table is shown as it was built.
const WORDS = ["failed", "known", "passed"]
const table = document.getElementById("scoreboard")
const controls = document.getElementById("scoreboard-controls")
const said = document.getElementById("scoreboard-said")
const heads = [...table.tHead.rows[0].cells]
const rows = [...table.tBodies[0].rows]
const counts = new Map()
for (const cell of table.querySelectorAll("[data-counts]")) counts.set(cell, JSON.parse(cell.dataset.counts))
const schemes = heads.filter(head => head.dataset.scheme)
const firstScheme = heads.indexOf(schemes[0])

function choice(label, values) {
  const box = document.createElement("label")
  const list = document.createElement("select")
  for (const [value, text] of [["", "all"], ...values]) list.add(new Option(text, value))
  box.append(`${label} `, list)
  controls.append(box)
  list.addEventListener("change", show)
  return list
}

function sorted(values) {
  return [...new Set(values)].sort().map(value => [value, value])
}

const scheme = choice("Scheme", schemes.map(head => [head.dataset.scheme, head.dataset.scheme]))
const dtypes = [...counts.values()].flatMap(each => Object.keys(each)).filter(name => name !== "all")
const dtype = choice("Dtype", sorted(dtypes))
const language = choice("Language", sorted(rows.map(row => row.dataset.language)))
const state = choice("Found", [["failed", "failures"], ["known", "known failures"], ["clean", "nothing"]])

function fill(cell) {
  const found = counts.get(cell)?.[dtype.value || "all"]
  cell.className = ""
  cell.replaceChildren()
  if (!found) return [0, 0, 0]
  cell.className = WORDS.find((_, n) => found[n]) ?? ""
  const lines = WORDS.map((word, n) => found[n] && `${found[n]} ${word}`).filter(Boolean)
  lines.forEach((line, n) => cell.append(...(n ? [document.createElement("br")] : []), line))
  if (found[3]) {
    const power = document.createElement("sup")
    power.textContent = Math.floor(Math.log2(found[3]))
    cell.append(document.createElement("br"), "to 2", power)
  }
  return found
}

function show() {
  let left = 0
  for (const row of rows) {
    const sums = [0, 0, 0]
    let measured = false
    schemes.forEach((head, n) => {
      const cell = row.cells[firstScheme + n]
      const found = fill(cell)
      const chosen = !scheme.value || scheme.value === head.dataset.scheme
      cell.hidden = head.hidden = !chosen
      if (!chosen) return
      measured ||= Boolean(cell.className)
      sums.forEach((_, m) => (sums[m] += found[m]))
    })
    sums.forEach((sum, n) => (row.cells[firstScheme - 3 + n].textContent = sum))
    const fits = { "": true, failed: sums[0] > 0, known: sums[1] > 0, clean: !sums[0] && !sums[1] }
    row.hidden =
      !measured || (language.value && language.value !== row.dataset.language) || !fits[state.value]
    left += !row.hidden
  }
  tell(left)
}

function tell(left) {
  said.textContent = `${left} of ${rows.length} implementations`
}

function key(row, column) {
  const cell = row.cells[column]
  if (column < 3) return cell.textContent.toLowerCase()
  if (column < firstScheme) return -Number(cell.textContent)
  const found = counts.get(cell)?.[dtype.value || "all"]
  return found ? -(found[0] * 1e6 + found[1]) : 1
}

function sort(column) {
  const again = heads[column].getAttribute("aria-sort") === "ascending"
  for (const head of heads) head.removeAttribute("aria-sort")
  heads[column].setAttribute("aria-sort", again ? "descending" : "ascending")
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (again ? -1 : 1)
  rows.sort((a, b) => order(key(a, column), key(b, column)))
  table.tBodies[0].append(...rows)
}

heads.forEach((head, column) => {
  const button = document.createElement("button")
  button.type = "button"
  button.textContent = head.dataset.scheme ? "sort" : head.textContent
  if (head.dataset.scheme) button.setAttribute("aria-label", `Sort by ${head.dataset.scheme}`)
  else head.replaceChildren()
  button.addEventListener("click", () => sort(column))
  head.append(...(head.dataset.scheme ? [document.createElement("br")] : []), button)
})
controls.hidden = false
tell(rows.length) // the table shows all of them as it was built
