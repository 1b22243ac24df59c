/** The text, with links, that explains pasted numbers. */
import { configIn } from "./config.js";
import { brief, element } from "./elements.js";
import { factors } from "./factors.js";
import { FEW, identify } from "./identify.js";
import { plainIntegers } from "./integers.js";
import { divided } from "./multiplied.js";
import { partsOfTables } from "./parts.js";
import { parse, refused } from "./paste.js";
import { NOTHING_MORE, recognise } from "./recognise.js";
import { slips } from "./slips.js";

/** Number of models of one progression to name before "and more". */
const NAMED = 6;

/** Pages of the mistakes that the page of the scheme does not explain. */
const EXPLAINED = { "narrow-frequencies": "llama3" };
const WITH_MISTAKES = ["alibi", "sinusoidal"];
/** The nearest call is named if it is off by at most this share of the largest number. */
const NEAR = 0.05;

const page = (/** @type {string} */ path) => new URL(`../../${path}`, import.meta.url).href;

/**
 * @typedef {{told: import("./recognise.js").Told[], matches: any[], nearest: any, more: number}} Explanations
 *   more counts lists that fit as well and are not told
 */

/**
 * All explanations of pasted numbers that this page can find.
 * @param {import("./paste.js").Pasted} pasted
 * @param {{schemes: any[], models: any[]}} known
 * @param {Record<string, Function>} calls
 * @returns {Explanations}
 */
export function explanations(pasted, { schemes, models }, calls) {
  const told = [...plainly(pasted, models, calls), ...recognise(pasted, models)];
  if (told.length && told.every(({ table, likely }) => likely && !table)) {
    return { ...NOTHING_ELSE, told };
  }
  if (pasted.leftOut) {
    return { ...NOTHING_ELSE, ...(told.length ? { told } : partly(pasted, models)) };
  }
  // A table of cosines and sines may also be that of an additive encoding.
  const others = identify(pasted, schemes, calls, { near: !told.some(({ likely }) => likely) });
  const kept = others.matches.length ? told.filter(({ likely }) => likely) : told;
  if (kept.length || others.matches.length) {
    return { ...NOTHING_ELSE, ...others, told: kept };
  }
  const longer = partly(pasted, models);
  return longer.told.length ? { ...NOTHING_ELSE, ...longer } : { ...others, ...longer };
}

const NOTHING_ELSE = { told: [], matches: [], nearest: null, more: 0 };

/** What is told without a search: divisors, positions, and known mistakes. */
function plainly(pasted, models, calls) {
  const sure = pasted.rows.flat().length >= FEW;
  return [
    ...factors(pasted, models).map((each) => ({ ...NOTHING_MORE, ...each })),
    ...plainIntegers(pasted).map((each) => ({ ...NOTHING_MORE, ...each, table: true, sure })),
    ...slips(pasted, calls).map((each) => ({ ...NOTHING_MORE, ...each, sure })),
  ];
}

/** Rows of which these numbers may be a part. */
function partly(pasted, models) {
  const { found, more } = partsOfTables(pasted, models);
  return { told: found.map((each) => ({ ...NOTHING_MORE, ...each })), more };
}

/**
 * What a pasted text is: numbers, or a config.json, whose data are fetched when one is pasted.
 * @param {string} text
 * @param {{schemes: any[], models: any[]}} known
 * @param {Record<string, Function>} calls
 * @returns {Promise<(Node | string)[]>}
 */
export async function answerTo(text, known, calls) {
  const asked = configIn(text);
  if (!asked) {
    return answer(text, known, calls);
  }
  const [{ configAnswer }, found] = await Promise.all([
    import("./config_answer.js"),
    fetch(new URL("configs.json", import.meta.url)),
  ]);
  return configAnswer(asked, await found.json(), known.schemes);
}

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
    return [text.trim() ? "At least two numbers are needed, in rows of equal length." : ""];
  }
  const size = `${pasted.rows.length} × ${pasted.rows[0].length} numbers. `;
  const [[first]] = pasted.rows;
  if (pasted.rows.flat().every((value) => value === first)) {
    return [element("p", {}, `${size}Every one is ${brief(first)}, which says nothing.`)];
  }
  if (pasted.rows.flat().length === 2) {
    return [element("p", {}, `${size}Two numbers are too few: paste more of them.`)];
  }
  const { told, matches, nearest, more } = explanations(pasted, known, calls);
  const found = [...told.map((each) => recognised(each, known)), ...matches.map(described)];
  if (found.length) {
    const sure = [...told.map((each) => each.sure), ...matches.map(isSure(pasted))];
    return [element("p", {}, size + heading(found.length, more, sure)), list(found)];
  }
  const smaller = pasted.leftOut ? null : divided(pasted);
  const right = smaller && explanations(smaller.pasted, known, calls);
  if (right && right.told.length + right.matches.length) {
    const items = [...right.told.map((each) => recognised(each, known)), ...right.matches.map(described)];
    return [element("p", {}, `${size}Every value is ${smaller.words} times what it is in:`), list(items)];
  }
  const largest = Math.max(...pasted.rows.flat().filter(Number.isFinite).map(Math.abs));
  const off =
    nearest && nearest.residual <= NEAR * largest
      ? ["The nearest is ", ...described(nearest), "."]
      : [pasted.leftOut ? "Print all of them." : ""];
  return [element("p", {}, `${size}No match. `, ...off)];
}

const isSure = (pasted) => (/** @type {any} */ { others }) =>
  !others && pasted.rows.flat().length >= FEW;

/** What precedes the explanations: certainty only where nothing else fits as well. */
function heading(count, more, sure) {
  if (count + more > 1) {
    const first = more ? `; the first ${count} of them:` : ":";
    return `${count + more} explanations fit alike${first}`;
  }
  return sure[0] ? "These are:" : "One explanation fits, but so few numbers do not exclude others:";
}

const list = (items) => element("ul", {}, ...items.map((parts) => element("li", {}, ...parts)));

const link = (path, text) => element("a", { href: page(path) }, text);

/** A recognised table or list, with the models that use it and the page of its mistake. */
function recognised({ what, scheme, mistake, models, base }, known) {
  const named = known.schemes.find(({ id }) => id === scheme);
  const title = named?.title ?? known.models.find((each) => each.scheme === scheme)?.title ?? scheme;
  const some = models.slice(0, NAMED).join("; ");
  const more = models.length > NAMED ? `; and ${models.length - NAMED} more` : "";
  const unused = base !== null && !known.models.some((each) => each.base === base);
  const explained = EXPLAINED[mistake] ?? (WITH_MISTAKES.includes(scheme) ? scheme : "rope");
  return [
    ...(scheme ? [link(`schemes/${scheme}/`, title), ": "] : []),
    `${what}. `,
    ...(models.length ? [link("models/", "Models"), ` that have it: ${some}${more}. `] : []),
    unused ? "No released model here has this base. " : "",
    ...(mistake ? ["Known mistake: ", link(`schemes/${explained}/#${mistake}`, mistake), "."] : []),
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
