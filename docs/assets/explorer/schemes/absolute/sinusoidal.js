/**
 * Sinusoidal positional encoding.
 * Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
 */
import { above, choice, rowOfPositions, whole } from "../../arguments.js";
import { progression, SCALES, wave } from "../../waves.js";

/**
 * A row for each position. Pair t turns by w_t = base^(-t / denominator) radians per position and
 * gives sin(p w_t) and cos(p w_t).
 * @param {number[]} positions token indices, or real numbers such as diffusion time steps
 * @param {number} dim channels d
 * @param {object} [options] conventions, named as in the specification
 * @returns {number[][]} [n, dim]
 */
export function sinusoidal(
  positions,
  dim,
  {
    base = 10000,
    layout = "interleaved",
    denominator = "d/2",
    first_position = 0,
    scale = "1",
    single_pair = "unit",
    odd_dim = "refuse",
  } = {},
) {
  rowOfPositions(positions, { real: true });
  whole("dim", dim, 2);
  above("base", base);
  choice("layout", layout, ["interleaved", "sin-cos", "cos-sin"]);
  choice("denominator", denominator, ["d/2", "d/2-1"]);
  whole("first_position", first_position, 0);
  choice("scale", scale, Object.keys(SCALES));
  choice("single_pair", single_pair, ["unit", "refuse"]);
  choice("odd_dim", odd_dim, ["refuse", "zero", "cut", "uneven"]);
  if (dim % 2 && odd_dim === "refuse") {
    throw new RangeError(`dim is ${dim}; sines and cosines come in pairs, so it must be even`);
  }

  const pairs = odd_dim === "zero" ? Math.floor(dim / 2) : Math.ceil(dim / 2);
  const step = exponentStep(dim, pairs, denominator, single_pair, odd_dim);
  const frequencies = progression(base, step, pairs);
  const factor = SCALES[scale](dim);
  return positions.map((token) => {
    const position = token + first_position;
    const row = wave(
      frequencies.map((w) => position * w),
      layout,
    ).map((y) => factor * y);
    // An odd dim is one less than the pairs need ("cut", "uneven") or one more ("zero").
    return row.length < dim ? [...row, 0] : row.slice(0, dim);
  });
}

/** The factor of t in the exponent. */
function exponentStep(dim, pairs, denominator, single_pair, odd_dim) {
  if (denominator === "d/2") {
    return odd_dim === "uneven" ? 2 / dim : 1 / pairs;
  }
  if (pairs === 1 && single_pair === "refuse") {
    throw new RangeError(`dim is ${dim}: the exponent t/(d/2-1) divides by zero for a single pair`);
  }
  return 1 / Math.max(pairs - 1, 1);
}
