// The reference of a scheme, from the data that the build writes beside the page. Without this file
// the page lists the schemes' files. Scheme, part and words are in the address, so that each choice
// can be linked to: ?scheme=rope&part=goldens#golden-interleaved-d4-start
const PARTS = {
  calls: "calls",
  combinations: "combinations in the wild",
  goldens: "goldens",
  published: "published values",
  invariants: "invariants",
  "bad-input": "bad input",
  power: "detecting power",
}
const controls = document.getElementById("reference-controls")
const said = document.getElementById("reference-said")
const box = document.getElementById("reference")
const files = document.getElementById("reference-files")
const asked = new URLSearchParams(location.search)

const scheme = controls.querySelector("select")
const part = labelled("Part", document.createElement("select"), "part")
for (const [id, name] of [["", "all"], ...Object.entries(PARTS)]) part.add(new Option(name, id))
const words = labelled("Find", Object.assign(document.createElement("input"), { type: "search" }), "find")

function labelled(text, field, name) {
  const label = document.createElement("label")
  label.append(`${text} `, field)
  controls.append(label)
  field.name = name
  return field
}

const fields = [scheme, part, words]
for (const field of fields) field.value = asked.get(field.name) ?? ""
const unknown = asked.get("scheme") && scheme.selectedIndex <= 0 ? asked.get("scheme") : ""
if (scheme.selectedIndex < 0) scheme.value = ""
if (part.selectedIndex < 0) part.value = ""

function element(name, content, attributes = {}) {
  const made = Object.assign(document.createElement(name), attributes)
  made.innerHTML = content // of this site's own build
  return made
}

// Makes a folded entry, with a link to itself that can be copied.
function entry({ id, title, text }) {
  const made = element("details", `<summary>${title}</summary>${text}`, { id, className: "golden" })
  made.append(element("p", `<a href="?scheme=${scheme.value}#${id}">Link to this</a>`))
  return made
}

function section({ id, title, text, entries }) {
  const made = element("section", `<h2 id="${id}">${title}</h2>${text}`)
  made.dataset.part = id
  made.append(...entries.map(entry))
  return made
}

let loaded = ""

async function load() {
  if (loaded === scheme.value) return
  loaded = scheme.value
  box.replaceChildren()
  files.hidden = Boolean(loaded)
  if (!loaded) return
  box.setAttribute("aria-busy", "true")
  const answer = await fetch(`${loaded}.json`).catch(() => null)
  if (answer?.ok) {
    const { title, file, parts } = await answer.json()
    const links = `<a href="../schemes/${loaded}/">${title}</a>, from <a href="../spec/${file}">${file}</a>`
    box.replaceChildren(element("p", links), ...parts.map(section))
    box.dispatchEvent(new Event("shown", { bubbles: true }))
  } else {
    files.hidden = false
    said.textContent = `The reference of ${loaded} could not be loaded. Its scheme file is listed below.`
  }
  box.setAttribute("aria-busy", "false")
}

function filter() {
  const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean)
  const every = [...box.querySelectorAll("details")]
  let left = 0
  for (const each of every) {
    const text = each.textContent.toLowerCase()
    const chosen = !part.value || each.parentElement.dataset.part === part.value
    each.hidden = !chosen || !sought.every(word => text.includes(word))
    left += !each.hidden
  }
  for (const each of box.querySelectorAll("section")) {
    const found = each.querySelector("details:not([hidden])")
    each.hidden = part.value ? each.dataset.part !== part.value : Boolean(sought.length) && !found
  }
  if (every.length) said.textContent = `${left} of ${every.length} goldens and invariants`
}

// Opens the entry that the address names, or else the part that it belonged to.
function reach() {
  const id = decodeURIComponent(location.hash.slice(1))
  if (!id || !box.childElementCount) return
  const target = document.getElementById(id) ?? document.getElementById(id.split("-")[0])
  if (!target) said.textContent = `Nothing here is called ${id}. It may belong to another scheme.`
  if (target instanceof HTMLDetailsElement) target.open = true
  target?.scrollIntoView()
}

async function show() {
  const chosen = scheme.value
  said.textContent = unknown && !chosen ? `No scheme is called ${unknown}. Choose one.` : ""
  await load()
  if (chosen !== scheme.value) return
  filter()
}

function changed() {
  const address = new URL(location)
  if (loaded !== scheme.value) address.hash = ""
  for (const { name, value } of fields) {
    if (value) address.searchParams.set(name, value)
    else address.searchParams.delete(name)
  }
  history.replaceState(history.state, "", address)
  show()
}

for (const field of fields) field.addEventListener("input", changed)
addEventListener("hashchange", reach)
controls.hidden = false
await show()
reach()
