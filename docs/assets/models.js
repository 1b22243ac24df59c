// Filters of the table of models: by family, scheme, sources and words. A model may have several
// rows, one for each group of layers; they are shown and hidden together.
import { filters, sorted } from "./board.js"

const table = document.getElementById("models-table")
const models = [...table.tBodies]

function show({ family, scheme, sources, find }) {
  const sought = find.toLowerCase().split(/\s+/).filter(Boolean)
  let left = 0
  for (const model of models) {
    const { dataset, textContent } = model
    const text = textContent.toLowerCase()
    model.hidden =
      Boolean(family && dataset.family !== family) ||
      Boolean(scheme && !dataset.schemes.split(" ").includes(scheme)) ||
      Boolean(sources && dataset.sources !== sources) ||
      !sought.every(word => text.includes(word))
    left += !model.hidden
  }
  return `${left} of ${models.length} models`
}

const controls = document.getElementById("models-controls")
const { choice, words, start } = filters(controls, document.getElementById("models-said"), show)
choice("family", "Family", "all", sorted(models.map(({ dataset }) => dataset.family)))
choice("scheme", "Scheme", "all", sorted(models.flatMap(({ dataset }) => dataset.schemes.split(" "))))
choice("sources", "Sources", "any", [["one", "one source for some value"], ["two", "two sources for each"]])
words("find", "Find")
start()
