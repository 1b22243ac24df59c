/** The search space of identification: for each call, arguments that may give the numbers. */
import { USUAL } from "./beginnings.js";
import { range } from "./evaluate.js";
import { SCALES } from "./waves.js";

/** Numbers of positions to try for exact and for near matches. */
const POSITIONS = 131_072;
const NEAR_POSITIONS = 128;
/** If more positions than this fit, the numbers are too few to identify. */
const MOST = 300;
/** Count of numbers beyond which fewer positions are tried for speed, and their least count. */
const LONG = 512;
const LEAST = 24;
/** Largest number of channels of a cell. */
const WIDEST = 2048;
/** Side of the grid in which to look for a single cell. */
const GRID = 32;
/** Round bases of sinusoids that are none of a released model's RoPE. */
const ROUND = [100, 1000, 100_000];
const MANY = 8;
/** Numbers of heads to try for a bias: powers of two first, as they share slopes. */
const HEADS = [1, 2, 4, 8, 16, 32, 64, 128, 6, 12, 20, 24, 40, 48, 56, 71, 80, 96, 112];
/** Largest distance at which a row of buckets may begin. */
const DISTANCES = 512;

/**
 * @typedef {{result: () => number[][], where: string, place: number, rule: string}} Candidate
 *   place is the position of the first row if the error of angles grows with the position, else 0
 * @typedef {{rows: number[][], units: number[][], calls: Record<string, Function>, scheme: any,
 *   call: string, combination: string, conventions: Record<string, any>, mistake: string | null, near: boolean,
 *   seen: Map<string, number[]>}} Context
 */

/** Mistakes that are equivalent to other positions. */
export const SHIFTED = {
  "angles taken for degrees": (/** @type {number} */ place) => (place * Math.PI) / 180,
  "angles of the opposite sign": (/** @type {number} */ place) => -place,
};

const INVERTED = "true and false exchanged";
const BACKWARDS = "the heads in the opposite order";

/** Mistakes to look for if no call matches the numbers. */
export const MISTAKES = [...Object.keys(SHIFTED), INVERTED, BACKWARDS];

/** @type {Record<string, (context: Context) => Iterable<Candidate>>} */
export const SEARCHES = {
  sinusoidal: (context) => waves(context, "base"),
  timestep: (context) => waves(context, "max_period"),
  sincos_2d: straight(grids),
  integer: straight(integers),
  normalized: straight(lengths),
  binary: straight(digits),
  alibi_slopes: slopes,
  alibi_bias: straight(biases),
  t5_bucket: straight((context) => buckets(context, "max_distance", -1)),
  deberta_bucket: straight((context) => buckets(context, "max_relative_positions", 1)),
  relative_table_2d_rows: straight(rowsOfTables),
  causal_mask: (context) => masks(context, ""),
  sliding_window: (context) => masks(context, "window"),
  chunked_mask: (context) => masks(context, "chunk_size"),
  position_interpolation_frequencies: straight(frequencies),
  ntk_aware_frequencies: straight(frequencies),
  dynamic_ntk_frequencies: straight(frequencies),
  yarn_frequencies: straight(frequencies),
  llama3_frequencies: straight(frequencies),
  p_rope_frequencies: straight(frequencies),
};

/** A search without mistakes. */
function straight(search) {
  return (context) => (context.mistake === null ? search(context) : []);
}

function candidate(where, result, place = 0, rule = "") {
  return { where, result, place, rule };
}

/**
 * Values of a parameter in the goldens of a scheme, the usual base first, and others if there are
 * numbers enough to tell them apart.
 */
function bases({ rows, scheme }, name) {
  const given = scheme.goldens.map((golden) => golden.arguments[name]).filter(Number.isFinite);
  const others = rows.flat().length < MANY ? [] : [...USUAL, ...ROUND];
  return [...new Set([10000, ...given, ...others])];
}

/** Rows of sines and cosines at consecutive positions. */
function* waves(context, base) {
  const { rows, calls, scheme, call, conventions, mistake, near } = context;
  const dim = rows[0].length;
  const told = dim % 2 === 0 || call === "timestep" || "odd_dim" in conventions;
  const first = conventions.first_position ?? 0;
  const moved = SHIFTED[mistake] ?? ((/** @type {number} */ place) => place);
  for (const value of near ? [10000] : bases(context, base)) {
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
 * Positions at which the first pair fits. Its frequency is 1 in every convention, so one sine and
 * one cosine rule out nearly all positions.
 * @param {Context} context
 */
function places({ rows, units, conventions, mistake, near, seen }) {
  const dim = rows[0].length;
  const share = Math.min(LONG / (rows.length * dim), 1);
  if (near) {
    return range(0, Math.ceil(share * share * NEAR_POSITIONS));
  }
  const { scale = "1", layout, order } = conventions;
  const factor = typeof scale === "string" ? SCALES[scale](dim) : 1;
  const arranged = layout ?? order;
  const waves = arranged === "cos-sin" ? [Math.cos, Math.sin] : [Math.sin, Math.cos];
  // The start of the second half depends on the rule for an odd dim: use the first channel only.
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
    const found = [];
    for (let place = 0; place < POSITIONS && found.length < Math.max(share * MOST, LEAST); place++) {
      if (fits(place)) {
        found.push(place);
      }
    }
    seen.set(name, found);
  }
  return seen.get(name);
}

/** All cells of a grid, or a single one. */
function* grids(context) {
  const { rows, calls, call, conventions, near } = context;
  const dim = rows[0].length;
  if (dim % 4) {
    return;
  }
  for (const base of near ? [10000] : bases(context, "base")) {
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
      dim <= WIDEST &&
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

/** The position whose binary digits are the first row. */
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
function* slopes({ rows, calls, call, conventions, mistake }) {
  const heads = rows[0].length;
  if (rows.length === 1 && (mistake === null || mistake === BACKWARDS)) {
    yield candidate(`heads ${heads}`, () => {
      const found = calls[call](heads, conventions);
      return [mistake ? found.reverse() : found];
    });
  }
}

/** Masks as booleans, ones and zeros, or additive biases. */
function* masks({ rows, calls, call, conventions, mistake, near }, size) {
  if (near || new Set(rows[0]).size > 2) {
    return;
  }
  const values = [...new Set(rows.flat())].sort((a, b) => a - b);
  const [hidden, allowed] = values;
  const added = allowed === 0 && hidden <= -1e4;
  const stored = hidden === 0 && allowed === 1;
  if (values.length !== 2 || !(added || stored) || (mistake && mistake !== INVERTED)) {
    return;
  }
  const [q_len, k_len] = [rows.length, rows[0].length];
  const [open, shut] = mistake ? [hidden, allowed] : [allowed, hidden];
  const seen = rows.map((row) => row.filter((value) => value === open).length);
  const most = Math.max(...seen);
  if (size && seen[q_len - 1] === k_len) {
    return; // the last query sees every key: the window cuts nothing off
  }
  const sizes = size ? new Set([most, most - 1, 2 * (seen[q_len - 1] - 1)]) : [null];
  for (const n of sizes) {
    const given = n === null ? [] : [n];
    const where = [`q_len ${q_len}`, `k_len ${k_len}`, ...(n === null ? [] : [`${size} ${n}`])];
    yield candidate(where.join(", "), () =>
      calls[call](q_len, k_len, ...given, conventions).map((row) =>
        row.map((each) => (each ? open : shut)),
      ),
    );
  }
}

/** The bias of one head, or some last rows of it. */
function* biases({ rows, units, calls, call, conventions, near }) {
  const [q_len, k_len] = [rows.length, rows[0].length];
  const finite = new Set(rows[q_len - 1].filter(Number.isFinite));
  if (q_len > k_len || k_len < 3 || finite.size < 2 || (near && q_len * k_len > LONG)) {
    return;
  }
  // One head of slope 1, times each slope: the biases of all heads would take much memory.
  const [plain] = calls[call](1, q_len, k_len, conventions);
  const unit = calls.alibi_slopes(1, conventions)[0];
  for (const heads of HEADS) {
    for (const [head, slope] of calls.alibi_slopes(heads, conventions).entries()) {
      const first = (plain[0][0] / unit) * slope;
      const apart = Math.abs(first - rows[0][0]);
      if (!near && apart > 1.0001 * units[0][0] + 2 ** -16 * Math.abs(first)) {
        continue;
      }
      yield candidate(`head ${head} of ${heads}, q_len ${q_len}, k_len ${k_len}`, () =>
        plain.map((row) => row.map((value) => (value / unit) * slope)),
      );
    }
  }
}

/** Buckets of consecutive distances, as a row or for queries and keys. */
function* buckets({ rows, calls, scheme, call, combination, conventions }, longest, sign) {
  if (new Set(rows.flat()).size < 3 || !rows.flat().every(Number.isInteger)) {
    return; // fewer than three different buckets identify nothing
  }
  const [q_len, k_len] = [rows.length, rows[0].length];
  for (const given of settings(scheme, call, combination, "relative_position")) {
    const words = `num_buckets ${given.num_buckets}, ${longest} ${given[longest]}`;
    const options = { ...conventions, ...given };
    if (q_len > 1) {
      const distances = rows.map((_, i) => range(0, k_len).map((j) => sign * (k_len - q_len + i - j)));
      yield candidate(`q_len ${q_len}, k_len ${k_len}, ${words}`, () =>
        calls[call](distances, options),
      );
      continue;
    }
    const all = calls[call](range(-DISTANCES, 2 * DISTANCES), options);
    for (const start of range(0, 2 * DISTANCES - k_len)) {
      yield candidate(`relative_position from ${start - DISTANCES}, ${words}`, () => [
        all.slice(start, start + k_len),
      ]);
    }
  }
}

/** Row indices of a table of offsets, for a window of patches, with or without a class token. */
function* rowsOfTables({ rows, calls, call, conventions }) {
  const patches = rows.length - (conventions.class_token === "first" ? 1 : 0);
  for (const height of range(1, patches).filter((each) => patches % each === 0)) {
    const width = patches / height;
    yield candidate(`height ${height}, width ${width}`, () =>
      calls[call](height, width, conventions),
    );
  }
}

/** Frequencies, with the parameters of the goldens. */
function* frequencies(context) {
  const { rows, calls, scheme, call, combination, conventions } = context;
  if (rows.length > 1) {
    return;
  }
  const plain =
    call === "position_interpolation_frequencies"
      ? bases(context, "base").map((base) => ({ base, factor: 1 }))
      : [];
  for (const given of [...plain, ...settings(scheme, call, combination, "rotary_dim")]) {
    const shown = Object.entries(given)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
    yield candidate(shown, () => [calls[call](2 * rows[0].length, { ...given, ...conventions })]);
  }
}

/** The distinct parameters in the goldens of a combination, without one argument. */
function settings(scheme, call, combination, without) {
  const all = scheme.goldens
    .filter((golden) => golden.call === call && golden.combination === combination)
    .map(({ arguments: { [without]: _, ...given } }) => JSON.stringify(given));
  return [...new Set(all)].map((text) => JSON.parse(text));
}
