/**
 * The fields of each call, and conversion of settings to and from the page's address. Everything
 * comes from schemes.json, which the build writes from the specification; only initial values that
 * fit on a screen are defined here.
 */

/** Initial sizes and positions, by name or by call and name. */
const INITIAL = {
  dim: 64,
  "binary.dim": 8,
  head_dim: 64,
  rotary_dim: 64,
  heads: 8,
  q_len: 32,
  k_len: 32,
  height: 8,
  width: 8,
  from: 0,
  rows: 64,
  "normalized.length": 64,
  "t5_bucket.from": -150,
  "t5_bucket.rows": 301,
  "t5_bias.num_buckets": 32,
  "dynamic_ntk_frequencies.length": 16384,
  "deberta_bucket.from": -600,
  "deberta_bucket.rows": 1201,
  "clipped_bias.rows": 17,
  "concatenation.dim": 16,
  encoding_dim: 48,
  "embedding_sum.x": "0.1 -0.1",
  "query_temperature.length": 8,
  "query_log_scale.length": 8,
  "relative_table_2d_rows.height": 5,
  "relative_table_2d_rows.width": 5,
  num_frequencies: 6,
  window: 8,
  dilation: 2,
  chunk_size: 8,
  block_size: 4,
  summary: 1,
  stride: 6,
};

/** Parameters that follow from other fields. */
const DERIVED = [
  "longrope_frequencies.pairs",
  "t5_bias.heads",
  "clipped_bias.heads",
  "kerple_bias.heads",
  "nerf.coords",
];

const FROM = { name: "from", kind: "real", description: "The first of the rows shown." };
const ROWS = { name: "rows", kind: "whole", description: "How many rows, one apart." };

/** Fields of list arguments, by name or by call and name. */
const LISTS = {
  positions: [FROM, ROWS],
  relative_position: [FROM, ROWS],
  x: [
    {
      name: "x",
      kind: "list",
      initial: "1",
      description:
        "The row that is turned, the same at each position; numbers are repeated to fill it.",
    },
  ],
  "nerf.x": [
    { name: "first", kind: "real", initial: -1, description: "The first of the points shown." },
    { name: "last", kind: "real", initial: 1, description: "The last of the points shown." },
    { ...ROWS, description: "How many points, at equal distances." },
  ],
  table: [], // row b holds b, so that the result is the bucket of each pair
  r1: [{ name: "r1", kind: "real", initial: 1, description: "A learned number above 0." }],
  r2: [{ name: "r2", kind: "real", initial: 0.5, description: "A learned number above 0." }],
  bias: [
    {
      name: "bias",
      kind: "list",
      initial: "0",
      description: "Learned phases of the channels; numbers are repeated to be enough.",
    },
  ],
  factors: [
    {
      name: "factors",
      kind: "list",
      initial: "1 1 1.25 1.5 2 3 5 8",
      description: "By what each frequency is divided, a number for each pair.",
    },
  ],
};

/**
 * @typedef {{name: string, kind: "choice" | "whole" | "real" | "list", description: string,
 *   initial: string, choices?: {value: string | number, description: string}[]}} Field
 * @typedef {{scheme: any, call: string, values: Record<string, string>}} Setting
 */

/**
 * Calls of a scheme that exist in JavaScript.
 * @param {any} scheme
 * @param {Record<string, Function>} calls
 */
export function callsOf(scheme, calls) {
  return Object.keys(scheme.calls).filter((name) => name in calls);
}

/** Axes that a call takes as arguments: those of its combinations, and the optional ones. */
export function axesOf(scheme, call) {
  const { combinations, options } = scheme.calls[call];
  const fixed = Object.values(combinations).flatMap((each) => Object.keys(each.conventions));
  return [...new Set([...fixed, ...options])].filter((axis) => scheme.conventions[axis].passed);
}

/**
 * @param {any} scheme
 * @param {string} call
 * @returns {Field[]}
 */
export function fieldsOf(scheme, call) {
  const { kind, arguments: taken, parameters } = scheme.calls[call];
  const conventions = axesOf(scheme, call).map((axis) => conventionField(scheme, axis));
  const lists = Object.keys(taken).flatMap((name) => listed(call, name) ?? []);
  const numbers = Object.entries(parameters)
    .filter(([name]) => !DERIVED.includes(`${call}.${name}`))
    .map(([name, { type, description, optional, initial }]) => ({
      name,
      kind: type === "integer" ? "whole" : "real",
      description: optional ? `${description} Empty for all.` : description,
      initial: optional ? "" : initial,
    }));
  const head =
    kind === "bias" && "heads" in taken
      ? [
          {
            name: "head",
            kind: "whole",
            description: "Whose bias is shown; heads count from 0.",
            initial: 0,
          },
        ]
      : [];
  return [...conventions, ...numbers, ...head, ...lists].map((field) => ({
    ...field,
    initial: String(initialOf(call, field)),
  }));
}

const listed = (/** @type {string} */ call, /** @type {string} */ name) =>
  LISTS[`${call}.${name}`] ?? LISTS[name];

function initialOf(call, { name, initial }) {
  return initial === "" ? "" : (INITIAL[`${call}.${name}`] ?? INITIAL[name] ?? initial);
}

function conventionField(scheme, axis) {
  const { description, default: usual, values } = scheme.conventions[axis];
  const unsaid = { value: "", description: "Not said: refused, where the question arises." };
  return {
    name: axis,
    kind: "choice",
    description,
    initial: usual ?? "",
    choices: usual === null ? [unsaid, ...values] : values,
  };
}

/**
 * The initial setting of a call: the conventions of its first combination.
 * @param {any} scheme
 * @param {string} call
 * @returns {Setting}
 */
export function initialSetting(scheme, call) {
  const values = Object.fromEntries(
    fieldsOf(scheme, call).map((field) => [field.name, field.initial]),
  );
  const [first] = Object.keys(scheme.calls[call].combinations);
  return combined({ scheme, call, values }, first);
}

/**
 * A setting with the conventions of a named combination.
 * @param {Setting} setting
 * @param {string} name
 * @returns {Setting}
 */
export function combined({ scheme, call, values }, name) {
  const { conventions } = scheme.calls[call].combinations[name];
  const others = axesOf(scheme, call).map((axis) => [axis, scheme.conventions[axis].default ?? ""]);
  const chosen = Object.entries(conventions).map(([axis, value]) => [axis, String(value)]);
  return { scheme, call, values: { ...values, ...Object.fromEntries([...others, ...chosen]) } };
}

/**
 * Names of the combinations that match a setting's conventions.
 * @param {Setting} setting
 */
export function combinationsOf({ scheme, call, values }) {
  return Object.entries(scheme.calls[call].combinations)
    .filter(([, { conventions }]) =>
      Object.entries(conventions).every(([axis, value]) => values[axis] === String(value)),
    )
    .map(([name]) => name);
}

/**
 * The setting as parameters of the page's address.
 * @param {Setting} setting
 * @param {string} prefix
 * @returns {string[][]} names with values
 */
export function toAddress({ scheme, call, values }, prefix) {
  const named = Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]);
  return [[`${prefix}scheme`, scheme.id], [`${prefix}call`, call], ...named];
}

/**
 * Parts of an address that this page does not understand, as name=value.
 * @param {URLSearchParams} address
 * @param {Record<string, Setting>} settings the settings read from the address, by prefix
 */
export function notUnderstood(address, settings) {
  const understood = (/** @type {string} */ whole, /** @type {string} */ value) => {
    const prefix = Object.keys(settings).find((each) => each && whole.startsWith(each)) ?? "";
    const name = whole.slice(prefix.length);
    const { scheme, call } = settings[prefix];
    if (!prefix && (name === "row" || name === "column")) {
      return /^\d+$/.test(value);
    }
    const known = { scheme: scheme.id, call };
    const field = fieldsOf(scheme, call).find((each) => each.name === name);
    const choices = field?.choices?.map((choice) => String(choice.value));
    return name in known ? known[name] === value : field && (choices?.includes(value) ?? true);
  };
  return [...address]
    .filter(([name, value]) => !understood(name, value))
    .map(([name, value]) => `${name}=${value}`);
}

/**
 * The setting in an address; missing and invalid values are the initial ones.
 * @param {URLSearchParams} address
 * @param {string} prefix
 * @param {any[]} schemes
 * @param {Record<string, Function>} calls
 * @returns {Setting}
 */
export function fromAddress(address, prefix, schemes, calls) {
  const given = (/** @type {string} */ name) => address.get(prefix + name);
  const scheme =
    schemes.find(({ id }) => id === given("scheme")) ??
    schemes.find(({ id }) => id === "sinusoidal");
  const known = callsOf(scheme, calls);
  const call = known.includes(given("call")) ? given("call") : known[0];
  const setting = initialSetting(scheme, call);
  for (const { name, choices } of fieldsOf(scheme, call)) {
    const value = given(name);
    const fits = !choices || choices.some((choice) => String(choice.value) === value);
    if (value !== null && fits) {
      setting.values[name] = value;
    }
  }
  return setting;
}
