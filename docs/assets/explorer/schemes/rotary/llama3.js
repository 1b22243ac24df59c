/**
 * Llama 3's scaling.
 * Source: meta-llama/llama-models, models/llama3/model.py, apply_scaling.
 */
import { above, atLeast, even, whole } from "../../arguments.js";
import { clipped, rotaryFrequencies, turns } from "../../waves.js";

/**
 * Frequencies, the slow ones divided by a factor. A pair of at least high_freq_factor turns over
 * the original length keeps its frequency; that of a pair of at most low_freq_factor turns is
 * divided by the factor; between the two the multiplier grows linearly with the turns.
 * @param {number} rotary_dim rotated channels
 * @param {{base?: number, factor: number, low_freq_factor: number, high_freq_factor: number,
 *   original_max_position_embeddings: number}} options
 * @returns {number[]} radians per position of each pair
 */
export function llama3_frequencies(
  rotary_dim,
  { base = 500000, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings },
) {
  even("rotary_dim", rotary_dim);
  above("base", base);
  atLeast("factor", factor, 1);
  above("low_freq_factor", low_freq_factor);
  above("high_freq_factor", high_freq_factor, low_freq_factor);
  whole("original_max_position_embeddings", original_max_position_embeddings, 1);
  const plain = rotaryFrequencies(rotary_dim, base);
  return turns(plain, original_max_position_embeddings).map((made, t) => {
    const kept = clipped((made - low_freq_factor) / (high_freq_factor - low_freq_factor));
    return plain[t] * ((1 - kept) / factor + kept);
  });
}
