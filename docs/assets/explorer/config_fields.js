/** The fields of a configuration that are about positions, and its blocks, under one spelling. */

export const isObject = (/** @type {any} */ value) =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/** Whether two values of JSON are equal, in whatever order their fields are. */
export function same(a, b) {
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => name in b && same(a[name], b[name]));
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, i) => same(value, b[i]));
  }
  return a === b;
}

/** Fields that have no meaning if null, in every type. */
const UNSAID = ["rope_scaling", "rope_parameters", "rope_interleaved", "layer_types", "original_max_position_embeddings"];

/**
 * The fields of a configuration that are about positions or sizes, by their usual names.
 * @param {Record<string, any>} fields
 * @param {any} known configs.json
 */
export function kept(fields, known) {
  const about = new RegExp(known.about);
  const sizes = [...known.sizes, ...(known.more[fields.model_type] ?? [])];
  const entries = Object.entries(fields).map(([name, value]) => [known.names[name] ?? name, value]);
  return Object.fromEntries(
    entries.filter(
      ([name, value]) =>
        (sizes.includes(name) || (about.test(name) && !known.ignored.includes(name))) &&
        !(value === null && UNSAID.includes(name)) &&
        !(value === false && known.switches.includes(name)),
    ),
  );
}

const KINDS = ["full_attention", "sliding_attention"];
const OLD_TYPES = { su: "longrope", mrope: "default" };
const ORIGINAL = "original_max_position_embeddings";

/**
 * The settings of rotation, for all layers or for each kind, and the other fields.
 * @param {Record<string, any>} about
 * @param {any} style the type's, of configs.json
 * @returns {{ropes: Record<string, any>, fields: Record<string, any>, isDefault?: boolean} | null} null if fields contradict
 */
export function ropesOf(about, style) {
  if (!style) {
    return { ropes: {}, fields: about };
  }
  const { rope_parameters: now, rope_scaling: old, ...fields } = about;
  const isOdd = [now, old].some((block) => block !== undefined && !isObject(block));
  if (isOdd || (now && old && !same(now, old))) {
    return null;
  }
  return style.blocks ? byKind(fields, now, old, style) : forAll(fields, now ?? old ?? {}, style);
}

/** Which field says two things, in a configuration whose fields contradict each other. */
export function contradiction(about) {
  const blocks = [about, about.rope_parameters, about.rope_scaling].filter(isObject);
  for (const name of ["rope_theta", "rope_type", "partial_rotary_factor", ORIGINAL, "factor"]) {
    const said = blocks.map((block) => block[name]).filter((value) => value !== undefined && value !== null && !isObject(value));
    const [first, second] = new Set(said);
    if (second !== undefined) {
      return `The file contradicts itself: ${name} says ${first} and ${second}.`;
    }
  }
  return "The file contradicts itself in its blocks rope_parameters and rope_scaling, or one is no object.";
}

function forAll({ ...fields }, block, style) {
  const [baseName] = style.fields;
  const found = { ...block };
  for (const [inner, outer] of [["rope_theta", baseName], ["partial_rotary_factor", "partial_rotary_factor"], [ORIGINAL, ORIGINAL]]) {
    const isIdle = inner === ORIGINAL && typeOf(block) === "default";
    if (fields[outer] !== undefined && fields[outer] !== null && !isIdle) {
      if ((found[inner] ?? fields[outer]) !== fields[outer]) {
        return null;
      }
      found[inner] = fields[outer];
      delete fields[outer];
    }
  }
  const isDefault = found.rope_theta === undefined;
  const all = cleaned({ ...(isDefault ? { rope_theta: style.base } : {}), ...found });
  return all && { ropes: { all }, fields, isDefault };
}

function byKind({ ...fields }, now, old, style) {
  if (now) {
    const odd = Object.keys(now).some((name) => !isObject(now[name]));
    if (odd) {
      return null;
    }
    const blocks = Object.entries(now).map(([kind, block]) => [kind, cleaned({ ...usual(kind, style), ...block })]);
    return blocks.every(([, block]) => block) ? { ropes: Object.fromEntries(blocks), fields } : null;
  }
  const [baseName, localName] = style.fields;
  const { [baseName]: base, [localName]: local, ...rest } = fields;
  const scaled = (/** @type {string} */ kind) => (style.scaled.includes(kind) ? old : {}) ?? {};
  const [full, sliding] = KINDS.map((kind) => usual(kind, style).rope_theta);
  const blocks = [
    cleaned({ ...scaled("full"), rope_theta: base ?? full }),
    cleaned({ ...scaled("sliding"), rope_theta: (style.local === null ? base : local) ?? sliding }),
  ];
  return blocks.every(Boolean)
    ? { ropes: Object.fromEntries(KINDS.map((kind, i) => [kind, blocks[i]])), fields: rest }
    : null;
}

const usual = (kind, style) => {
  const base = kind === KINDS[1] ? (style.local ?? style.base) : style.base;
  return base === null ? {} : { rope_theta: base };
};

const typeOf = (block) => {
  const type = block.rope_type ?? block.type ?? "default";
  return OLD_TYPES[type] ?? type;
};

/** A block with its type under one name, and without nulls; null if it contradicts itself. */
function cleaned({ type, ...block }) {
  const [a, b] = [typeOf({ type }), typeOf(block)];
  if (type !== undefined && block.rope_type !== undefined && a !== b) {
    return null;
  }
  const entries = Object.entries({ ...block, rope_type: typeOf({ type, ...block }) });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}
