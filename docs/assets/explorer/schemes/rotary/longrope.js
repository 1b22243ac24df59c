/**
 * LongRoPE.
 * Source: Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens",
 * equation 3.
 */
import { above } from "../../arguments.js";
import { progression } from "../../waves.js";

/**
 * Frequencies, each divided by a separate factor, found by a search.
 * @param {number[]} factors one for each pair
 * @param {{base?: number}} [options]
 * @returns {number[]} radians per position of each pair
 */
export function longrope_frequencies(factors, { base = 10000 } = {}) {
  above("base", base);
  if (!Array.isArray(factors) || factors.length === 0) {
    throw new TypeError("factors must be a list with a number for each pair");
  }
  factors.forEach((factor, t) => above(`factor ${t}`, factor));
  return progression(base, 1 / factors.length, factors.length).map((w, t) => w / factors[t]);
}
