/**
 * Rotary position embedding.
 * Source: Su et al. 2021, "RoFormer", sections 3.2 and 3.4, equations 14 to 16.
 */
import { above, choice, even, rowOfPositions } from "../arguments.js";
import { rotaryFrequencies } from "../waves.js";

/** Channels (first, second) of pair t of r rotated ones. */
const PAIR = {
  interleaved: (/** @type {number} */ t) => [2 * t, 2 * t + 1],
  half: (/** @type {number} */ t, /** @type {number} */ r) => [t, t + r / 2],
};

/** Where a layout reads its pairs, and where it writes them. */
const LAYOUTS = {
  interleaved: [PAIR.interleaved, PAIR.interleaved],
  half: [PAIR.half, PAIR.half],
  "interleaved-to-half": [PAIR.interleaved, PAIR.half],
};

/**
 * Queries or keys, each pair of channels turned by position times frequency:
 * pair t of r rotated channels by base^(-2t / r) radians per position.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the n rows
 * @param {object} [options] rotary_dim is the number of leading channels that turn; null for all
 * @returns {any[]} like x
 */
export function rope(
  x,
  positions,
  { base = 10000, layout = "interleaved", rotary_dim = /** @type {number | null} */ (null) } = {},
) {
  choice("layout", layout, Object.keys(LAYOUTS));
  above("base", base);
  rowOfPositions(positions);
  if (x.flat(Infinity).length === 0) {
    return structuredClone(x);
  }
  if (Array.isArray(x[0][0])) {
    return x.map((part) => rope(part, positions, { base, layout, rotary_dim }));
  }
  if (x.length !== positions.length) {
    throw new RangeError(`there are ${positions.length} positions for ${x.length} rows of x`);
  }
  const head_dim = x[0].length;
  const rotated = rotary_dim ?? head_dim;
  even(rotary_dim === null ? "head_dim" : "rotary_dim", rotated);
  if (rotated > head_dim) {
    throw new RangeError(`rotary_dim is ${rotated}; x has ${head_dim} channels`);
  }
  const frequencies = rotaryFrequencies(rotated, base);
  return x.map((row, i) =>
    turned(
      row,
      frequencies.map((w) => positions[i] * w),
      layout,
    ),
  );
}

/** One row, each pair of its leading channels turned by its angle. */
function turned(row, angles, layout) {
  const [read, written] = LAYOUTS[layout];
  const rotated = 2 * angles.length;
  const out = [...row];
  angles.forEach((angle, t) => {
    const [from, fromSecond] = read(t, rotated);
    const [to, toSecond] = written(t, rotated);
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    out[to] = row[from] * cos - row[fromSecond] * sin;
    out[toSecond] = row[from] * sin + row[fromSecond] * cos;
  });
  return out;
}
