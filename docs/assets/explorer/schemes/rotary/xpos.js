/**
 * xPos: rotary embedding whose pairs shrink on queries and grow on keys.
 * Source: Sun et al. 2022, "A Length-Extrapolatable Transformer"; torchscale for the centre.
 */
import { above, choice, even, rowOfPositions } from "../../arguments.js";
import { withPositions } from "../../rows.js";
import { PAIR, rotaryFrequencies } from "../../waves.js";

/** Position of the scale 1 in a text of n tokens. */
const CENTERS = {
  zero: () => 0,
  ceiling: (/** @type {number} */ n) => Math.ceil(n / 2),
  floor: (/** @type {number} */ n) => Math.floor(n / 2),
};

/**
 * Queries or keys, each pair rotated as in rotary embedding and multiplied by a power of
 * zeta = (2t/d + 0.4) / 1.4 that depends on its position; on keys it is divided.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the n rows
 * @param {object} [options] downscale is 0 for queries and 1 for keys
 * @returns {any[]} like x
 */
export function xpos(
  x,
  positions,
  { base = 10000, scale_base = 512, downscale = 0, center = "zero", layout = "interleaved" } = {},
) {
  choice("center", center, Object.keys(CENTERS));
  choice("layout", layout, Object.keys(PAIR));
  choice("downscale", downscale, [0, 1]);
  above("base", base);
  above("scale_base", scale_base);
  rowOfPositions(positions);
  const middle = CENTERS[center](Math.max(...positions, -1) + 1);
  return withPositions(x, positions, (row, position) => {
    const d = row.length;
    even("head_dim", d);
    const out = [...row];
    rotaryFrequencies(d, base).forEach((w, t) => {
      const [first, second] = PAIR[layout](t, d);
      const power = ((downscale ? -1 : 1) * (position - middle)) / scale_base;
      const scale = ((2 * t) / d + 0.4) / 1.4;
      const [sin, cos] = [Math.sin(position * w), Math.cos(position * w)];
      out[first] = (row[first] * cos - row[second] * sin) * scale ** power;
      out[second] = (row[first] * sin + row[second] * cos) * scale ** power;
    });
    return out;
  });
}
