/** The text that answers a pasted config.json. */
import { configIn, readConfig } from "./config.js";
import { element } from "./elements.js";
import { shown } from "./rules.js";

const page = (/** @type {string} */ path) => new URL(`../../${path}`, import.meta.url).href;
const link = (path, text) => element("a", { href: page(path) }, text);
const code = (/** @type {string} */ text) => element("code", {}, text);

const NAMED = 6;
const SEES = { chunked: "its chunk of ", "two-sided": "on each side " };

/**
 * @param {NonNullable<ReturnType<typeof configIn>>} asked
 * @param {any} known configs.json
 * @param {any[]} schemes
 * @returns {(Node | string)[]}
 */
export function configAnswer({ config, why }, known, schemes) {
  if (!config) {
    return [element("p", {}, why)];
  }
  const found = readConfig(config, known);
  if (!found.groups.length) {
    return [element("p", {}, `${found.why} Ask `, code("posenc model config.json"), "."), ...readWords(found)];
  }
  const titles = found.models.slice(0, NAMED).join("; ");
  const more = found.models.length > NAMED ? `; and ${found.models.length - NAMED} more` : "";
  const whose = found.models.length
    ? [`A model of the type ${found.type}, with all that `, link("models/", titles), `${more} says about positions${found.context ? "" : ", but for the length"}.`]
    : [`A model of the type ${found.type}; no released model here has all of these fields.`];
  const groups = found.groups.map((group) => element("li", {}, ...groupWords(group, schemes, known)));
  return [
    element("p", {}, ...whose, lengthWords(found)),
    element("ul", {}, ...groups),
    ...readWords(found),
    element("p", {}, "What each mistake costs with it: ", code("posenc model config.json"), "."),
  ];
}

/** The length of a released model, or what a file says of its length. */
function lengthWords({ models, context, groups }) {
  if (!context) {
    return "";
  }
  if (models.length) {
    return ` Released for ${shown(context)} positions.`;
  }
  const { factor, original_max_position_embeddings: original } = groups[0].parameters;
  const reach = factor && original ? factor * original : context;
  const beyond = reach > context ? `; with the factor, its scaling is for ${shown(reach)}` : "";
  return ` Its max_position_embeddings is ${shown(context)}${beyond}.`;
}

function groupWords({ layers, scheme, title, attention, window, parameters, rotated }, schemes, known) {
  const { head_dim: size, base, rotary_dim: _, ...others } = parameters;
  const name = title ?? schemes.find(({ id }) => id === scheme)?.title ?? scheme;
  const numbers = [
    ...(base === undefined ? [] : [`base ${shown(base)}`]),
    ...Object.entries(others).map(([field, value]) => `${field} ${shown(value)}`),
    ...(size === undefined ? [] : [`heads of ${shown(size)} channels`]),
    ...(rotated !== null && rotated !== size ? [`${rotated} of them turn`] : []),
    ...(window === null ? [] : [`a query sees ${SEES[attention] ?? ""}${shown(window)} positions`]),
  ];
  const unused = base !== undefined && !known.bases.includes(base);
  const where = layers ? `Layer${/[-,]/.test(layers) ? "s" : ""} ${layers.replace(/-/g, "–")}: ` : "Before the first layer: ";
  return [
    where,
    link(`schemes/${scheme}/`, name),
    numbers.length ? `, ${numbers.join(", ")}.` : ".",
    unused ? element("strong", {}, ` No released model here has the base ${shown(base)}.`) : "",
  ];
}

/** What was read, what was taken, and how the nearest model differs. */
function readWords({ read, taken, near }) {
  const words = [
    ...(read.length ? [`Read: ${read.join(", ")}.`] : []),
    ...(taken.length ? [`Not in the file, and taken from the type: ${taken.join(", ")}.`] : []),
    ...(near?.differs.length
      ? [`Of the models here, ${near.title} is the nearest, which differs in ${near.differs.join(", ").replace(/\brope$/, "its base or scaling")}.`]
      : []),
  ];
  return words.length ? [element("p", {}, words.join(" "))] : [];
}
