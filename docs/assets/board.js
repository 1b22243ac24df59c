// What the tables of the board have in common: filters that stay in the address, so that what is
// shown can be linked to, and a button that copies the address. Without it, tables are shown whole.
export function filters(controls, said, show) {
  const asked = new URLSearchParams(location.search)
  const fields = {}

  function added(name, label, field) {
    const box = document.createElement("label")
    box.append(`${label} `, field)
    controls.append(box)
    field.name = name
    field.addEventListener("input", update)
    fields[name] = field
    return field
  }

  // Adds a list to choose from; `values` are pairs of a value and its words.
  function choice(name, label, all, values) {
    const list = added(name, label, document.createElement("select"))
    for (const [value, text] of [["", all], ...values]) list.add(new Option(text, value))
    list.value = asked.get(name) ?? ""
    if (list.selectedIndex < 0) list.value = ""
  }

  function words(name, label) {
    const field = added(name, label, Object.assign(document.createElement("input"), { type: "search" }))
    field.value = asked.get(name) ?? ""
  }

  const values = () => Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]))

  function update() {
    const address = new URL(location)
    for (const [name, value] of Object.entries(values())) {
      if (value) address.searchParams.set(name, value)
      else address.searchParams.delete(name)
    }
    history.replaceState(history.state, "", address)
    said.textContent = show(values())
  }

  function start() {
    const copy = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy link" })
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(location.href)
        said.textContent = "The link to what is shown has been copied."
      } catch {
        said.textContent = `The link to what is shown: ${location.href}`
      }
    })
    controls.append(copy)
    controls.hidden = false
    update()
  }

  return { choice, words, start }
}

export const sorted = values => [...new Set(values)].sort().map(value => [value, value])
