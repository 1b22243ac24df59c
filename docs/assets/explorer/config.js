/**
 * A pasted config.json: that of a released model, or of a type that needs no arithmetic. What is not
 * understood is not answered; `posenc model` reads more.
 */
import { contradiction, isObject, kept, ropesOf, same } from "./config_fields.js";

/**
 * @typedef {{id: string, layers: string, scheme: string, title?: string, attention: string,
 *   window: number | null, parameters: Record<string, number>, rotated: number | null}} Group
 * @typedef {{type: string, models: string[], groups: Group[], context: number | null,
 *   read: string[], taken: string[], why: string, near: {title: string, differs: string[]} | null}} Read
 *   why is empty, or says why there are no groups
 */

/**
 * The JSON object in a text, perhaps after the name of a class, as transformers prints it.
 * @param {string} text
 * @returns {{config: Record<string, any> | null, why: string} | null} null for a text of another kind
 */
export function configIn(text) {
  if (/\brope\.(?:freq_base|dimension_count|scaling)/.test(text)) {
    return { config: null, why: "These are fields of a GGUF file. posenc model FILE.gguf reads them all." };
  }
  if (!/["'](?:model_type|rope_\w+|max_position_embeddings|num_hidden_layers|text_config)["']\s*:/.test(text)) {
    return null;
  }
  try {
    const config = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    return isObject(config) ? { config, why: "" } : null;
  } catch (error) {
    return { config: null, why: `This looks like a config.json, but is no whole JSON object (${error.message}). Paste the file from { to }.` };
  }
}

/**
 * @param {Record<string, any>} raw
 * @param {any} known configs.json
 * @returns {Read}
 */
export function readConfig(raw, known) {
  const { fields, why } = textOf(raw, known);
  const type = fields.model_type;
  const nothing = { type, models: [], groups: [], context: null, read: [], taken: [], why, near: null };
  if (why) {
    return nothing;
  }
  if (typeof type !== "string" && ["dim", "n_layers", "n_heads"].every((name) => name in fields)) {
    return { ...nothing, why: "These are fields of params.json, which the programs of Meta and Mistral read. posenc model params.json reads it too." };
  }
  if (typeof type !== "string") {
    return { ...nothing, why: "It has no model_type, which says how the other fields are read: paste the whole file." };
  }
  const about = kept(fields, known);
  const read = Object.keys(about);
  const style = known.types[type];
  const given = ropesOf(about, style);
  if (!given) {
    return { ...nothing, read, why: contradiction(about) };
  }
  const alike = known.models
    .filter(({ config }) => config.model_type === type)
    .map((model) => compared(about, model, known));
  const equal = alike.filter(({ differs }) => !differs.length);
  if (equal.length) {
    const [{ model: { config, groups, context }, taken }] = equal;
    const isOpen = LENGTH in kept(config, known) && !(LENGTH in about);
    const base = given.isDefault ? [`rope_theta ${style.base}`] : [];
    const models = equal.map(({ model }) => model.title);
    return { ...nothing, models, groups, context: isOpen ? null : context, read, taken: [...base, ...taken] };
  }
  const simple = style?.simple ? simply(given, style) : null;
  const near = nearest(alike, given);
  if (!simple) {
    const reason = style
      ? `This ${type} configuration has fields that this page cannot interpret, and no released model has all of them.`
      : `The type ${type} is not read here.`;
    return { ...nothing, read, why: reason, near };
  }
  return simple.why ? { ...nothing, read, why: simple.why, near } : { ...nothing, ...simple, read, near };
}

/** The part of a configuration for the text. */
function textOf(raw, known) {
  const part = known.parts.find((/** @type {string} */ name) => isObject(raw[name]));
  if (!part) {
    return { fields: raw, why: "" };
  }
  const { [part]: inner, ...outer } = raw;
  const beside = Object.keys(kept(outer, known)).filter((name) => !known.sizes.includes(name));
  if (beside.length) {
    return { fields: inner, why: `Fields about positions stand beside ${part}: ${beside.join(", ")}.` };
  }
  const type = known.texts[raw.model_type] ?? `${raw.model_type}_text`;
  return textOf({ model_type: type, ...inner }, known);
}

const PATTERN = "sliding_window_pattern";

/** How a configuration differs from a model's, and what it leaves out that its type has by default. */
function compared(about, model, known) {
  const style = known.types[about.model_type];
  const left = Object.entries(style?.defaults ?? {}).filter(
    ([name]) => !(name in about) && name in model.config,
  );
  const given = ropesOf({ ...about, ...Object.fromEntries(left) }, style);
  const differs = given ? differences(given, model, known) : ["?"];
  const said = left.filter(([name]) => !(name === PATTERN && about.layer_types));
  return { model, differs, taken: said.map(([name, value]) => `${name} ${value}`) };
}

/** Fields in which a configuration differs from that of a model, by its own name for them. */
function differences(given, model, known) {
  const own = ropesOf(kept(model.config, known), known.types[model.config.model_type]);
  if (!own) {
    return ["?"];
  }
  const names = new Set([...Object.keys(given.fields), ...Object.keys(own.fields)]);
  const odd = [...names].filter((name) => {
    const idle = !(name in own.fields) && name in model.also && same(model.also[name], given.fields[name]);
    return !idle && !isUnsaid(name, given.fields) && !same(given.fields[name], own.fields[name]);
  });
  return [...odd, ...(same(given.ropes, own.ropes) ? [] : ["rope"])];
}

/** Whether a file leaves out a field that decides nothing about its layers. */
const isUnsaid = (name, fields) =>
  !(name in fields) && (name === LENGTH || (name === "num_attention_heads" && "head_dim" in fields));

/** A released model with layers of the same sizes; null if none is that near. */
function nearest(alike, given) {
  const sizes = ["hidden_size", "num_hidden_layers", "num_attention_heads"];
  const near = alike
    .filter(({ model }) => sizes.every((name) => model.config[name] === given.fields[name]))
    .sort((a, b) => a.differs.length - b.differs.length)[0];
  return near ? { title: near.model.title, differs: near.differs } : null;
}

const LENGTH = "max_position_embeddings";
const SCHEMES = { default: "rope", linear: "position-interpolation", llama3: "llama3", yarn: "yarn" };
/** The numbers that each kind of block must state. */
const NEEDED = {
  default: [],
  linear: ["factor"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
  yarn: ["factor", "original_max_position_embeddings"],
};
const SWITCHED = ["use_sliding_window", "sliding_window", "max_window_layers"];
const SIZES = ["model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim", "max_position_embeddings"];

/** The one group of a type whose layers are alike, or why it is not said. */
function simply({ fields, ropes, isDefault }, style) {
  const switched = style.switched && !fields.use_sliding_window ? SWITCHED : [];
  const windowed = style.windowed ? ["sliding_window"] : [];
  const odd = Object.keys(fields).filter((name) => ![...SIZES, ...switched, ...windowed].includes(name));
  if (odd.length) {
    return { why: `What ${odd.join(", ")} mean${odd.length > 1 ? "" : "s"} for ${fields.model_type} is not read here.` };
  }
  if (fields.head_dim === null && style.head) {
    return { why: `head_dim is null, which does not stand for the ${style.head} of ${fields.model_type}.` };
  }
  const { rope_type: kind, rope_theta: base, ...scaling } = ropes.all;
  const needed = NEEDED[kind];
  const numbers = { ...scaling, base };
  if (!needed || !same(Object.keys(scaling).sort(), [...needed].sort())) {
    return { why: `A block of the type ${kind} with ${Object.keys(scaling).join(", ") || "no fields"} is not read here.` };
  }
  const layers = fields.num_hidden_layers;
  const { size, windowSize } = sizesOf(fields, style);
  const why = unsound({ num_hidden_layers: layers, ...(windowSize === null ? {} : { sliding_window: windowSize }) }, numbers, size, fields);
  if (why) {
    return { why };
  }
  const group = {
    id: "layers",
    layers: layers > 1 ? `0-${layers - 1}` : "0",
    scheme: SCHEMES[kind],
    attention: windowSize === null ? "full" : "sliding",
    window: windowSize,
    parameters: { head_dim: size, base, ...scaling },
    rotated: size,
  };
  return { groups: [group], context: fields.max_position_embeddings ?? null, taken: takenOf(fields, isDefault, style) };
}

/** What is wrong with the first number that no model can have; empty if all are sound. */
function unsound(counts, { base, ...scaling }, size, fields) {
  const isCount = (value) => Number.isInteger(value) && value > 0;
  const isPositive = (value) => typeof value === "number" && value > 0;
  const sizes = size === fields.head_dim ? { head_dim: size } : { hidden_size: fields.hidden_size, num_attention_heads: fields.num_attention_heads };
  const odd = [
    ...Object.entries({ ...counts, ...sizes }).filter(([, value]) => !isCount(value)),
    ...Object.entries({ rope_theta: base, ...scaling }).filter(([, value]) => !isPositive(value)),
    ...(base > 1 ? [] : [["rope_theta", base]]),
    ...((scaling.factor ?? 1) >= 1 ? [] : [["factor", scaling.factor]]),
  ][0];
  if (odd) {
    const [name, value] = odd;
    return value === undefined ? `${name} is missing.` : `${name} is ${JSON.stringify(value)}, which is none that a model can have.`;
  }
  return isCount(size / 2) ? "" : `Heads of ${size} channels cannot be cut into pairs.`;
}

function sizesOf(fields, style) {
  const size = fields.head_dim ?? style.head ?? fields.hidden_size / fields.num_attention_heads;
  const given = "sliding_window" in fields ? fields.sliding_window : style.window;
  return { size, windowSize: style.windowed ? (given ?? null) : null };
}

/** What the file does not say, and the type has by default. */
function takenOf(fields, isDefault, style) {
  return [
    ...(isDefault ? [`rope_theta ${style.base}`] : []),
    ...(fields.head_dim === undefined && style.head ? [`head_dim ${style.head}`] : []),
    ...(style.windowed && style.window && !("sliding_window" in fields) ? [`sliding_window ${style.window}`] : []),
  ];
}
