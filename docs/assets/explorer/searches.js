/** Where identification looks: for each call, the arguments that may have given some numbers. */
import { range } from "./evaluate.js";
import { SCALES } from "./waves.js";

/** Positions looked at, and those looked at for what is merely near. */
const POSITIONS = 131_072;
const NEAR_POSITIONS = 128;
/** More positions than this fit only where numbers say too little. */
const MOST = 300;
/** Side of the grid in which a single cell is looked for. */
const GRID = 32;
/** Numbers of heads that a bias may belong to: powers of two first, as they share slopes. */
const HEADS = [1, 2, 4, 8, 16, 32, 64, 128, 6, 12, 20, 24, 40, 48, 56, 71, 80, 96, 112];
/** Distances at which a row of buckets may begin. */
const DISTANCES = 512;

/**
 * @typedef {{result: () => number[][], where: string, place: number, rule: string}} Candidate
 *   place is the position of the first row, where the error of angles grows with it
 * @typedef {{rows: number[][], units: number[][], calls: Record<string, Function>, scheme: any,
 *   call: string, combination: string, conventions: Record<string, any>, mistake: string | null, near: boolean,
 *   seen: Map<string, number[]>}} Context
 */

/** Mistakes that amount to other positions. */
export const SHIFTED = {
  "angles taken for degrees": (/** @type {number} */ place) => (place * Math.PI) / 180,
  "angles of the opposite sign": (/** @type {number} */ place) => -place,
};

/** @type {Record<string, (context: Context) => Iterable<Candidate>>} */
export const SEARCHES = {
  sinusoidal: (context) => waves(context, "base"),
  timestep: (context) => waves(context, "max_period"),
  sincos_2d: straight(grids),
  integer: straight(integers),
  normalized: straight(lengths),
  binary: straight(digits),
  alibi_slopes: straight(slopes),
  alibi_bias: straight(biases),
  t5_bucket: straight(buckets),
  position_interpolation_frequencies: straight(frequencies),
  ntk_aware_frequencies: straight(frequencies),
  dynamic_ntk_frequencies: straight(frequencies),
  yarn_frequencies: straight(frequencies),
  llama3_frequencies: straight(frequencies),
  p_rope_frequencies: straight(frequencies),
};

/** A search that knows of no mistakes. */
function straight(search) {
  return (context) => (context.mistake === null ? search(context) : []);
}

function candidate(where, result, place = 0, rule = "") {
  return { where, result, place, rule };
}

/** Values of a parameter in the goldens of a scheme, the usual base first. */
function bases(scheme, name) {
  const given = scheme.goldens.map((golden) => golden.arguments[name]).filter(Number.isFinite);
  return [...new Set([10000, ...given])];
}

/** Rows of sines and cosines, at positions that follow one another. */
function* waves(context, base) {
  const { rows, calls, scheme, call, conventions, mistake, near } = context;
  const dim = rows[0].length;
  const told = dim % 2 === 0 || call === "timestep" || "odd_dim" in conventions;
  const first = conventions.first_position ?? 0;
  const moved = SHIFTED[mistake] ?? ((/** @type {number} */ place) => place);
  for (const value of near ? [10000] : bases(scheme, base)) {
    for (const rule of told ? [""] : ["zero", "cut", "uneven"]) {
      for (const place of places(context).filter((each) => each >= first)) {
        const positions = rows.map((_, i) => moved(place + i) - first);
        const options = { ...conventions, ...(rule && { odd_dim: rule }), [base]: value };
        const where = [atToken(place - first, rows.length, first), `${base} ${value}`];
        yield candidate(
          [...where, ...(rule ? [`odd_dim ${rule}`] : [])].join(", "),
          () => calls[call](positions, dim, options),
          place,
          rule,
        );
      }
    }
  }
}

function atToken(token, count, first) {
  const shown = count > 1 ? `positions ${token} to ${token + count - 1}` : `position ${token}`;
  return first ? `${shown}, counted from ${first}` : shown;
}

/**
 * Positions at which the first pair fits. It has the frequency 1 in every convention, so that one
 * sine and one cosine rule nearly all positions out.
 * @param {Context} context
 */
function places({ rows, units, conventions, mistake, near, seen }) {
  if (near) {
    return range(0, NEAR_POSITIONS);
  }
  const dim = rows[0].length;
  const { scale = "1", layout, order } = conventions;
  const factor = typeof scale === "string" ? SCALES[scale](dim) : 1;
  const arranged = layout ?? order;
  const waves = arranged === "cos-sin" ? [Math.cos, Math.sin] : [Math.sin, Math.cos];
  // Where the second half begins depends on the rule for an odd dim: then the first channel alone.
  const second = arranged === "interleaved" ? 1 : dim / 2;
  const channels = dim % 2 ? [0] : [0, second];
  const moved = SHIFTED[mistake] ?? ((/** @type {number} */ place) => place);
  const name = [arranged, factor, mistake].join();
  if (!seen.has(name)) {
    const fits = (/** @type {number} */ place) => {
      const angle = moved(place);
      const lost = 2 ** -24 * (4 + (Number.isInteger(angle) ? 0 : 4 * Math.abs(angle)));
      return channels.every(
        (channel, which) =>
          Math.abs(factor * waves[which](angle) - rows[0][channel]) <=
          1.0001 * units[0][channel] + lost,
      );
    };
    seen.set(name, range(0, POSITIONS).filter(fits).slice(0, MOST));
  }
  return seen.get(name);
}

/** All cells of a grid, or a single one. */
function* grids({ rows, calls, scheme, call, conventions, near }) {
  const dim = rows[0].length;
  if (dim % 4) {
    return;
  }
  for (const base of near ? [10000] : bases(scheme, "base")) {
    const make = (height, width) => calls[call](height, width, dim, { ...conventions, base });
    if (rows.length > 1) {
      for (const height of range(1, rows.length).filter((each) => rows.length % each === 0)) {
        const width = rows.length / height;
        yield candidate(`height ${height}, width ${width}, base ${base}`, () =>
          make(height, width),
        );
      }
    } else if (
      conventions.coordinates === "index" &&
      (dim > 4 || conventions.denominator === "d/4")
    ) {
      const grid = make(GRID, GRID);
      for (const [index, cell] of grid.entries()) {
        const [row, column] = [Math.floor(index / GRID), index % GRID];
        yield candidate(`row ${row}, column ${column}, base ${base}`, () => [cell], row + column);
      }
    }
  }
}

/** Positions themselves. */
function* integers({ rows, calls, call }) {
  const [[first]] = rows;
  const positions = rows.map((_, i) => first + i);
  yield candidate(atToken(first, rows.length, 0), () => calls[call](positions, rows[0].length));
}

/** Positions from 0 to 1. */
function* lengths({ rows, calls, call }) {
  if (rows.length > 1) {
    yield candidate(`length ${rows.length}`, () => calls[call](rows.length, rows[0].length));
  }
}

/** The position whose digits the first row holds. */
function* digits({ rows, calls, call, conventions }) {
  const ones = rows[0].map((value) => Number(value === 1));
  const ordered = conventions.order === "msb-first" ? [...ones].reverse() : ones;
  const first = ordered.reduce((sum, digit, place) => sum + digit * 2 ** place, 0);
  const positions = rows.map((_, i) => first + i);
  yield candidate(atToken(first, rows.length, 0), () =>
    calls[call](positions, rows[0].length, conventions),
  );
}

/** A slope for each head. */
function* slopes({ rows, calls, call, conventions }) {
  const heads = rows[0].length;
  if (rows.length === 1) {
    yield candidate(`heads ${heads}`, () => [calls[call](heads, conventions)]);
  }
}

/** The bias of one head, or some last rows of it. */
function* biases({ rows, calls, call, conventions }) {
  const [q_len, k_len] = [rows.length, rows[0].length];
  if (q_len > k_len || k_len < 3) {
    return;
  }
  // One head of slope 1, times each slope there is: biases of many heads would be large.
  const [plain] = calls[call](1, q_len, k_len, conventions);
  const unit = calls.alibi_slopes(1, conventions)[0];
  for (const heads of HEADS) {
    for (const [head, slope] of calls.alibi_slopes(heads, conventions).entries()) {
      yield candidate(`head ${head} of ${heads}, q_len ${q_len}, k_len ${k_len}`, () =>
        plain.map((row) => row.map((value) => (value / unit) * slope)),
      );
    }
  }
}

/** Buckets of distances that follow one another; a few different ones, or they say nothing. */
function* buckets({ rows, calls, scheme, call, combination, conventions }) {
  if (rows.length > 1 || new Set(rows[0]).size < 3 || !rows[0].every(Number.isInteger)) {
    return;
  }
  for (const { num_buckets, max_distance } of settings(
    scheme,
    call,
    combination,
    "relative_position",
  )) {
    const options = { ...conventions, num_buckets, max_distance };
    const all = calls[call](range(-DISTANCES, 2 * DISTANCES), options);
    for (const start of range(0, 2 * DISTANCES - rows[0].length)) {
      yield candidate(
        `relative_position from ${start - DISTANCES}, num_buckets ${num_buckets}, ` +
          `max_distance ${max_distance}`,
        () => [all.slice(start, start + rows[0].length)],
      );
    }
  }
}

/** Frequencies, with the parameters of the goldens. */
function* frequencies({ rows, calls, scheme, call, combination, conventions }) {
  if (rows.length > 1) {
    return;
  }
  const plain =
    call === "position_interpolation_frequencies"
      ? bases(scheme, "base").map((base) => ({ base, factor: 1 }))
      : [];
  for (const given of [...plain, ...settings(scheme, call, combination, "rotary_dim")]) {
    const shown = Object.entries(given)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
    yield candidate(shown, () => [calls[call](2 * rows[0].length, { ...given, ...conventions })]);
  }
}

/** Different parameters in the goldens of a combination, leaving one out. */
function settings(scheme, call, combination, without) {
  const all = scheme.goldens
    .filter((golden) => golden.call === call && golden.combination === combination)
    .map(({ arguments: { [without]: _, ...given } }) => JSON.stringify(given));
  return [...new Set(all)].map((text) => JSON.parse(text));
}
