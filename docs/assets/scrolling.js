// Scrollable boxes become focusable, so that the keyboard can scroll them; boxes that fit do not.
// Some browsers do so by themselves, but not all.
const scrolling =
  ".wide, .formula, math.long, .md-typeset__scrollwrap, .md-typeset pre, .md-typeset pre > code, " +
  ".tabbed-labels"
// An element without a role needs one for screen readers to announce it on focus.
const announced = { role: "group", "aria-label": "Scrolls sideways" }

// Pixels under the title of the navigation in which entries fade.
const BELOW_TITLE = 16

function scrolls(box) {
  const { overflowX, overflowY } = getComputedStyle(box)
  const down = box.matches(".sticky") && box.scrollHeight > box.clientHeight && overflowY === "auto"
  return down || (box.scrollWidth > box.clientWidth && overflowX === "auto")
}

// Measure everything before changing anything, or each box causes another layout of the page.
function mark(boxes) {
  const wide = boxes.map(scrolls)
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
// The theme removes tabindex from code on devices without hover, such as a tablet with a keyboard.
const marks = new MutationObserver(records => mark(targets(records)))

// A font that loads late changes the width of the content without resizing any box.
document.fonts.addEventListener("loadingdone", () => mark([...document.querySelectorAll(scrolling)]))

function watch(content) {
  for (const box of content.querySelectorAll(scrolling)) {
    sizes.observe(box)
    marks.observe(box, { attributeFilter: ["tabindex"] })
  }
}

// The theme's page-load event: its boxes around tables exist by then.
document$.subscribe(() => watch(document))
// A script that adds content says so.
addEventListener("shown", ({ target }) => watch(target))

// The theme scrolls the navigation to the page that is open. The first entry in sight must not lie half
// behind the title, which stays in place.
const navigation = document.querySelector(".md-sidebar--primary .md-sidebar__scrollwrap")
navigation?.addEventListener("scroll", () => {
  const title = navigation.querySelector(".md-nav--lifted > .md-nav__list > .md-nav__item--active > .md-nav__link")
  const edge = title?.getBoundingClientRect().bottom + BELOW_TITLE
  const links = [...navigation.querySelectorAll(".md-nav__link")].map(link => link.getBoundingClientRect())
  const cut = links.find(({ top, bottom, height }) => height && top < edge && bottom > edge)
  if (cut) navigation.scrollTop -= edge - cut.top
}, { once: true })

// A check stood at the end of its page; its statement has the same name.
if (location.hash.startsWith("#check-")) location.replace(location.hash.replace("#check-", "#claim-"))

// Open all details for printing, and close them again.
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

// The theme puts the buttons of each code block into an unnamed landmark.
new MutationObserver(records => {
  for (const { addedNodes } of records)
    for (const node of addedNodes)
      if (node instanceof HTMLElement && node.matches("nav.md-code__nav")) node.setAttribute("role", "none")
}).observe(document.body, { childList: true, subtree: true })
