// Whatever scrolls by itself can be reached and scrolled with the keyboard, and nothing else stops
// the tab key on its way. Browsers begin to do so by themselves; not all do.
const scrolling =
  ".wide, .formula, math.long, .md-typeset__scrollwrap, .md-typeset pre, .md-typeset pre > code, " +
  ".tabbed-labels"
// What has no role of its own needs one to be announced where the tab key stops.
const announced = { role: "group", "aria-label": "Scrolls sideways" }

// Everything is measured before anything is changed, or the page is laid out again for each box.
function mark(boxes) {
  const wide = boxes.map(box => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto")
  boxes.forEach((box, n) => {
    if (wide[n] === box.hasAttribute("tabindex")) return
    const plain = box instanceof HTMLDivElement
    for (const [name, value] of Object.entries({ tabindex: "0", ...(plain && announced) })) {
      if (wide[n]) box.setAttribute(name, value)
      else box.removeAttribute(name)
    }
  })
}

const targets = entries => [...new Set(entries.map(({ target }) => target))]
const sizes = new ResizeObserver(entries => mark(targets(entries)))
// The theme takes the mark away from code where nothing can hover, as on a tablet with a keyboard.
const marks = new MutationObserver(records => mark(targets(records)))

// Letters of a typeface that comes late are wider or narrower, and no box changes its size by that.
document.fonts.addEventListener("loadingdone", () => mark([...document.querySelectorAll(scrolling)]))

// The theme's own signal: by then it has put its boxes around tables.
document$.subscribe(() => {
  for (const box of document.querySelectorAll(scrolling)) {
    sizes.observe(box)
    marks.observe(box, { attributeFilter: ["tabindex"] })
  }
})

// On paper nothing can be unfolded.
const unfolded = []
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("article details:not([open])")) {
    each.open = true
    unfolded.push(each)
  }
})
addEventListener("afterprint", () => {
  for (const each of unfolded.splice(0)) each.open = false
})

// The theme puts the buttons of code into a landmark for each block, all without a name.
new MutationObserver(records => {
  for (const { addedNodes } of records)
    for (const node of addedNodes)
      if (node instanceof HTMLElement && node.matches("nav.md-code__nav")) node.setAttribute("role", "none")
}).observe(document.body, { childList: true, subtree: true })
