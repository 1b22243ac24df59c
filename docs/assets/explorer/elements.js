/** Construction of page elements without a framework. */

/**
 * An element with properties, attributes (those with a hyphen, and role) and children.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string)} children
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  return fill(made, properties, children);
}

/** An SVG element, all of whose properties are attributes. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "for") {
      made.setAttribute(name, value);
    } else {
      made[name] = value;
    }
  }
  made.append(...children);
  return made;
}

/**
 * A number short enough to read.
 * @param {number} value
 * @param {number} [digits]
 */
export function brief(value, digits = 6) {
  if (!Number.isFinite(value)) {
    return String(value).replace("-Infinity", "−∞");
  }
  const shown = Number(value.toPrecision(digits));
  return String(shown).replace("-", "−");
}
