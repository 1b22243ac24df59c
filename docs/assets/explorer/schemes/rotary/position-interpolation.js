/**
 * Position interpolation.
 * Source: Chen et al. 2023, "Extending Context Window of Large Language Models via Positional
 * Interpolation", equation 4.
 */
import { above, atLeast, even } from "../../arguments.js";
import { rotaryFrequencies } from "../../waves.js";

/**
 * Frequencies divided by a factor, which is the same as positions divided by it.
 * @param {number} rotary_dim rotated channels
 * @param {{base?: number, factor: number}} options
 * @returns {number[]} radians per position of each pair
 */
export function position_interpolation_frequencies(rotary_dim, { base = 10000, factor }) {
  even("rotary_dim", rotary_dim);
  above("base", base);
  atLeast("factor", factor, 1);
  return rotaryFrequencies(rotary_dim, base).map((w) => w / factor);
}
