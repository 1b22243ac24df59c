// Whatever scrolls by itself can be reached and scrolled with the keyboard, and nothing else stops
// the tab key on its way. Browsers begin to do so by themselves; not all do.
const scrolling =
  ".wide, .formula, math.long, .md-typeset__scrollwrap, .md-typeset pre, .md-typeset pre > code, " +
  ".tabbed-labels"
// What has no role of its own needs one to be announced where the tab key stops.
const announced = { role: "group", "aria-label": "Scrolls sideways" }

function mark(box) {
  const wide = box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto"
  if (wide === box.hasAttribute("tabindex")) return
  const plain = box instanceof HTMLDivElement
  for (const [name, value] of Object.entries({ tabindex: "0", ...(plain && announced) })) {
    if (wide) box.setAttribute(name, value)
    else box.removeAttribute(name)
  }
}

const sizes = new ResizeObserver(entries => entries.forEach(({ target }) => mark(target)))
// The theme takes the mark away from code where nothing can hover, as on a tablet with a keyboard.
const marks = new MutationObserver(records => records.forEach(({ target }) => mark(target)))

// The theme's own signal: by then it has put its boxes around tables.
document$.subscribe(() => {
  for (const box of document.querySelectorAll(scrolling)) {
    sizes.observe(box)
    marks.observe(box, { attributeFilter: ["tabindex"] })
  }
})
