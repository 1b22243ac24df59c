/**
 * Rotary position embedding.
 * Source: Su et al. 2021, "RoFormer", sections 3.2 and 3.4, equations 14 to 16.
 */
import { above, choice, even, rowOfPositions } from "../../arguments.js";
import { withPositions } from "../../rows.js";
import { PAIR, rotaryFrequencies } from "../../waves.js";

/** The channels from which a layout reads its pairs, and to which it writes them. */
const LAYOUTS = {
  interleaved: [PAIR.interleaved, PAIR.interleaved],
  half: [PAIR.half, PAIR.half],
  "interleaved-to-half": [PAIR.interleaved, PAIR.half],
};

/**
 * Queries or keys, each pair of channels rotated by position times frequency:
 * pair t of r rotated channels by base^(-2t / r) radians per position.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the n rows
 * @param {object} [options] rotary_dim is the number of leading channels to rotate; null for all
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
  return withPositions(x, positions, (row, position) => {
    const rotated = rotary_dim ?? row.length;
    even(rotary_dim === null ? "head_dim" : "rotary_dim", rotated);
    if (rotated > row.length) {
      throw new RangeError(`rotary_dim is ${rotated}; x has ${row.length} channels`);
    }
    const angles = rotaryFrequencies(rotated, base).map((w) => position * w);
    return turned(row, angles, layout);
  });
}

/** One row, each pair of its leading channels rotated by its angle. */
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
