/**
 * Dynamic NTK scaling.
 * Source: transformers 5.23.0, modeling_rope_utils.py, rope_type "dynamic"; Peng et al. 2023,
 * "YaRN", section 3.3.
 */
import { above, atLeast, even, whole } from "../../arguments.js";
import { stretched } from "../../waves.js";

/**
 * Frequencies of NTK-aware scaling with a factor that grows with the length l of the current
 * sequence beyond the training length L: factor * l / L - (factor - 1).
 * @param {number} rotary_dim rotated channels, at least 4
 * @param {{base?: number, factor: number, original_max_position_embeddings: number,
 *   length: number}} options
 * @returns {number[]} radians per position of each pair
 */
export function dynamic_ntk_frequencies(
  rotary_dim,
  { base = 10000, factor, original_max_position_embeddings, length },
) {
  even("rotary_dim", rotary_dim, 4);
  above("base", base);
  atLeast("factor", factor, 1);
  whole("original_max_position_embeddings", original_max_position_embeddings, 1);
  whole("length", length, 1);
  const longest = Math.max(length, original_max_position_embeddings);
  const stretch = (factor * longest) / original_max_position_embeddings - (factor - 1);
  return stretched(rotary_dim, base, stretch);
}
