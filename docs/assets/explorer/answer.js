/** The text, with links, that explains pasted numbers. */
import { brief, element } from "./elements.js";
import { partsOfSinusoids } from "./beginnings.js";
import { identify } from "./identify.js";
import { parse, refused } from "./paste.js";
import { recognise } from "./recognise.js";

/** Number of models of one progression to name before "and more". */
const NAMED = 6;

/** Pages of the mistakes that RoPE's page does not explain. */
const EXPLAINED = { "narrow-frequencies": "llama3" };

const page = (/** @type {string} */ path) => new URL(`../../${path}`, import.meta.url).href;

/**
 * All explanations of pasted numbers that this page can find.
 * @param {import("./paste.js").Pasted} pasted
 * @param {{schemes: any[], models: any[]}} known
 * @param {Record<string, Function>} calls
 */
export function explanations(pasted, { schemes, models }, calls) {
  const told = recognise(pasted, models);
  if (told.length && told.every(({ table, likely }) => likely && !table)) {
    return { told, matches: [], nearest: null };
  }
  const { rows, units, leftOut } = pasted;
  const part = () => (rows.length === 1 ? partsOfSinusoids(rows[0], units[0], leftOut) : []);
  if (leftOut) {
    return { told: told.length ? told : part().map(asTold), matches: [], nearest: null };
  }
  // A table of cosines and sines may also be that of an additive encoding.
  const others = identify(pasted, schemes, calls, { near: !told.length });
  const kept = others.matches.length ? told.filter(({ likely }) => likely) : told;
  const longer = kept.length || others.matches.length ? [] : part().map(asTold);
  return { ...others, told: [...kept, ...longer], nearest: longer.length ? null : others.nearest };
}

const asTold = (/** @type {any} */ each) => ({ ...each, mistake: "", table: false, likely: true });

/**
 * @param {string} text
 * @param {{schemes: any[], models: any[]}} known
 * @param {Record<string, Function>} calls
 * @returns {(Node | string)[]}
 */
export function answer(text, known, calls) {
  const why = refused(text);
  if (why) {
    return [why];
  }
  const pasted = parse(text);
  if (!pasted || pasted.rows[0].length < 2) {
    return [text.trim() ? "These are not two numbers or more, in rows of one length with nothing left out." : ""];
  }
  const size = `${pasted.rows.length} × ${pasted.rows[0].length} numbers. `;
  const [[first]] = pasted.rows;
  if (pasted.rows.flat().every((value) => value === first)) {
    return [element("p", {}, `${size}Every one is ${brief(first)}, which says nothing.`)];
  }
  const { told, matches, nearest } = explanations(pasted, known, calls);
  const found = [...told.map((each) => recognised(each, known.schemes)), ...matches.map(described)];
  if (found.length) {
    const alike = found.length > 1 ? `${found.length} explanations fit alike:` : "These are:";
    return [element("p", {}, size + alike), list(found)];
  }
  const off = nearest
    ? ["The nearest is ", ...described(nearest), "."]
    : [pasted.leftOut ? "Print all of them." : "No call that is looked at gives rows of this shape."];
  return [element("p", {}, `${size}Nothing that this page knows gives them. `, ...off)];
}

const list = (items) => element("ul", {}, ...items.map((parts) => element("li", {}, ...parts)));

const link = (path, text) => element("a", { href: page(path) }, text);

/** A recognised rotary table or list, with the models that use it and the page of its mistake. */
function recognised({ what, scheme, mistake, models }, schemes) {
  const title = schemes.find(({ id }) => id === scheme)?.title ?? scheme;
  const some = models.slice(0, NAMED).join("; ");
  const more = models.length > NAMED ? `; and ${models.length - NAMED} more` : "";
  return [
    link(`schemes/${scheme}/`, title),
    `: ${what}. `,
    ...(models.length ? [link("models/", "Models"), ` that have it: ${some}${more}. `] : []),
    ...(mistake ? ["Known mistake: ", link(`schemes/${EXPLAINED[mistake] ?? "rope"}/#${mistake}`, mistake), "."] : []),
  ];
}

/** The text of a match, with a link to the page of its scheme. */
function described({ scheme, call, combination, where, mistake, residual, others }) {
  return [
    link(`schemes/${scheme.id}/`, scheme.title),
    `: ${call}, ${combination}, ${where}`,
    mistake ? `, but with ${mistake}` : "",
    `; off by at most ${brief(residual, 2)}`,
    others ? ` (and ${others} more of other bases, positions or sizes)` : "",
  ];
}
