// Findings of a page about itself once it is shown. `look` returns one sentence for each.
({
  // Unfold everything that a reader can unfold, and let no transition be caught half-way.
  async unfold() {
    const style = document.createElement("style")
    style.textContent = `
      *, *::before, *::after { transition: none !important; animation: none !important }
      .tabbed-block { display: block !important }`
    document.head.append(style)
    for (const folded of document.querySelectorAll("details")) folded.open = true
    for (const image of document.images) image.loading = "eager"
    await document.fonts.ready
    // An image that cannot be decoded is found below.
    await Promise.all([...document.images].map(image => image.decode().catch(() => {})))
    await this.drawn()
  },

  // Two frames: by then, observers of sizes and of the colour scheme have run.
  drawn() {
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))
  },

  look(scheme) {
    return [
      ...this.colours(scheme),
      ...this.width(),
      ...this.scrolling(),
      ...this.formulas(),
      ...this.pictures(),
    ]
  },

  colours(scheme) {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g)
    const light = 0.299 * red + 0.587 * green + 0.114 * blue > 127
    return light === (scheme === "light") ? [] : [`the page is not ${scheme}`]
  },

  width() {
    const found = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) {
      const scrolls = each => ["auto", "scroll"].includes(getComputedStyle(each).overflowX)
      const inside = each => each === document.body || (!scrolls(each) && inside(each.parentElement))
      const widest = [...document.body.querySelectorAll("*")]
        .filter(each => each.checkVisibility() && inside(each.parentElement))
        .sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0]
      found.push(`the page scrolls sideways: ${scrollWidth} > ${clientWidth}: ${this.name(widest)}`)
    }
    for (const box of document.querySelectorAll("article *")) {
      // A box of one pixel hides text meant only for screen readers.
      if (box.scrollWidth <= box.clientWidth + 1 || box.clientWidth <= 1) continue
      if (["hidden", "clip"].includes(getComputedStyle(box).overflowX) && !box.closest("svg, math"))
        found.push(`cut off: ${box.scrollWidth} > ${box.clientWidth}: ${this.name(box)}`)
    }
    return found
  },

  // axe accepts a box that contains a link, or that scrolls by a few pixels. Outside of articles a
  // link is enough here, too; in an article such a box has text next to its links.
  scrolling() {
    const scrolls = box => {
      const { overflowX, overflowY } = getComputedStyle(box)
      return ["auto", "scroll"].includes(overflowX) && box.scrollWidth > box.clientWidth
        || ["auto", "scroll"].includes(overflowY) && box.scrollHeight > box.clientHeight
    }
    const reached = box => box.tabIndex >= 0
      || !box.closest("article") && [...box.querySelectorAll("*")].some(each => each.tabIndex >= 0)
    return [...document.body.querySelectorAll("*")]
      .filter(box => scrolls(box) && box.checkVisibility() && !reached(box))
      .map(box => `scrolls and cannot be focused: ${this.name(box)}`)
  },

  formulas() {
    const found = []
    for (const formula of document.querySelectorAll("math")) {
      if (formula.closest("[hidden]")) continue
      const tokens = [...formula.querySelectorAll("mi, mn, mo, mtext")]
      // Invisible operators such as "applied to" have no width.
      const seen = tokens.filter(each => /[^\s\u2061-\u2064]/.test(each.textContent))
      const empty = [formula, ...seen].find(each => {
        const { width, height } = each.getBoundingClientRect()
        return !(width > 0 && height > 0)
      })
      if (!(formula instanceof MathMLElement) || !seen.length || empty)
        found.push(`formula not shown: ${this.name(empty ?? formula)}`)
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode
      const raw = data.match(/\\[()[\]]|\\[a-z]{2,}|\$\$/)
      if (raw && !parentElement.closest("code, pre, script, style, textarea, annotation"))
        found.push(`raw TeX ${raw[0]} in: ${data.trim()}`)
    }
    return found
  },

  pictures() {
    const found = []
    for (const image of document.images) {
      const decoration = image.closest("[aria-hidden=true], [role=presentation], [role=none]")
      if (!decoration && !image.alt.trim()) found.push(`no alternative text: ${this.name(image)}`)
      if (!(image.complete && image.naturalWidth)) found.push(`no picture: ${this.name(image)}`)
    }
    for (const drawing of document.querySelectorAll("svg[role=img], article svg")) {
      // An icon in a link or a button has the name of its parent.
      if (drawing.parentElement.closest("svg, a, button, label, summary, [aria-hidden=true]"))
        continue
      if (drawing.ariaHidden === "true") continue
      const named = (drawing.getAttribute("aria-labelledby") ?? "").split(/\s+/)
        .map(id => document.getElementById(id)?.textContent)
      const title = drawing.querySelector(":scope > title")?.textContent
      const text = [drawing.ariaLabel, title, ...named].join("").trim()
      if (drawing.getAttribute("role") !== "img" || !text)
        found.push(`no role=img with a name: ${this.name(drawing)}`)
    }
    return found
  },

  // Contrast takes nine tenths of axe's time, and is the same for texts whose ancestors have the same
  // tags, classes and styles: mark the first visible one of each kind, for all of them. This requires
  // colours that do not depend on ids or on places among siblings, as is true of the theme's and ours.
  mark() {
    const kinds = new Map([[document.documentElement, ""]])
    const kind = element => {
      if (!kinds.has(element)) {
        const own = ["class", "style", "fill", "type", "role", "hidden"]
          .map(name => element.getAttribute(name))
        kinds.set(element, [kind(element.parentElement), element.tagName, ...own].join(" "))
      }
      return kinds.get(element)
    }
    const marked = new Set()
    for (const element of document.body.querySelectorAll("*")) {
      const text = [...element.childNodes].some(each => each.nodeType === 3 && each.data.trim())
      if (!text && !element.matches("input, select, textarea")) continue
      if (marked.has(kind(element)) || !element.checkVisibility()) continue
      marked.add(kind(element))
      element.setAttribute("data-first", "")
    }
  },

  // A third of a page's elements are words of code. Merge those that are not marked into the text
  // around them, for good: they take a quarter of axe's time, and no other check reads them.
  thin() {
    for (const word of document.querySelectorAll("pre span:not([data-first], [id], :has(*))"))
      word.replaceWith(...word.childNodes)
  },

  // All rules, or the named ones.
  async violations(rules) {
    this.mark()
    this.thin()
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-first]" }] })
    const only = rules ? { runOnly: rules } : {}
    const { violations } = await axe.run({ resultTypes: ["violations"], preload: false, ...only })
    for (const marked of document.querySelectorAll("[data-first]"))
      marked.removeAttribute("data-first")
    return violations
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        `axe ${id}: ${target.join(" ").replaceAll('[data-first=""]', "")}: ${failureSummary.split("\n").slice(1).join(";")}`))
  },

  name(element) {
    return element.outerHTML.slice(0, 120).replace(/\s+/g, " ")
  },
})
