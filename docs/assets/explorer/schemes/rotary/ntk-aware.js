/**
 * NTK-aware scaling.
 * Source: Peng et al. 2023, "YaRN", section 3.1, and the code of its authors.
 */
import { above, atLeast, even } from "../../arguments.js";
import { stretched } from "../../waves.js";

/**
 * Frequencies of the larger base base * factor^(d / (d-2)) with d = rotary_dim: the slowest is
 * divided by the factor, the fastest is unchanged.
 * @param {number} rotary_dim rotated channels, at least 4
 * @param {{base?: number, factor: number}} options
 * @returns {number[]} radians per position of each pair
 */
export function ntk_aware_frequencies(rotary_dim, { base = 10000, factor }) {
  even("rotary_dim", rotary_dim, 4);
  above("base", base);
  atLeast("factor", factor, 1);
  return stretched(rotary_dim, base, factor);
}
