// Filters of the table of engines: by family of models, engine, verdict, spelling and words.
import { filters, sorted } from "./board.js"

const STATES = ["failed", "known", "passed", "unjudged"]
const table = document.getElementById("engines")
const rows = [...table.tBodies[0].rows]
const heads = [...table.tHead.rows[0].cells].slice(1)

function worst(parts) {
  const n = Math.min(...parts.map(({ dataset }) => STATES.indexOf(dataset.state)))
  return STATES[n] ?? ""
}

// Shows the parts of a cell for one spelling; returns those that have the wanted verdict.
function filled(cell, { spelling, verdict }) {
  const parts = [...cell.querySelectorAll(".said")]
  for (const part of parts) part.hidden = Boolean(spelling) && !part.dataset.spelling.split(" ").includes(spelling)
  const shown = parts.filter(part => !part.hidden)
  const found = shown.filter(({ dataset }) => !verdict || dataset.verdict === verdict)
  cell.className = worst(shown)
  cell.classList.toggle("other", Boolean(shown.length) && !found.length)
  return found
}

function show(chosen) {
  const sought = chosen.find.toLowerCase().split(/\s+/).filter(Boolean)
  const columns = heads.map(({ dataset }) => !chosen.engine || dataset.engine === chosen.engine)
  heads.forEach((head, n) => (head.hidden = !columns[n]))
  let left = 0
  for (const row of rows) {
    const cells = [...row.cells].slice(1)
    cells.forEach((cell, n) => (cell.hidden = !columns[n]))
    const found = cells.map((cell, n) => filled(cell, chosen).length && columns[n]).some(Boolean)
    const words = `${row.dataset.family} ${row.textContent}`.toLowerCase()
    row.hidden =
      !found ||
      Boolean(chosen.family && row.dataset.family !== chosen.family) ||
      !sought.every(word => words.includes(word))
    left += !row.hidden
  }
  return `${left} of ${rows.length} models`
}

const controls = document.getElementById("engines-controls")
const { choice, words, start } = filters(controls, document.getElementById("engines-said"), show)
choice("family", "Family", "all", sorted(rows.map(({ dataset }) => dataset.family)))
choice("engine", "Engine", "all", heads.map(head => [head.dataset.engine, head.querySelector("a").textContent]))
choice("verdict", "Verdict", "any", sorted(["passed", "wrong", "not supported", "not judged"]))
choice("spelling", "Spelling", "both", [["released", "as released"], ["transformers-5", "as transformers 5 saves it"]])
words("find", "Find")
start()
