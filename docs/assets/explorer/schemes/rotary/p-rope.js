/**
 * p-RoPE.
 * Source: Barbero et al. 2024, "Round and Round We Go! What makes Rotary Positional Encodings
 * useful?"; google-deepmind/gemma.
 */
import { above, atLeast, even } from "../../arguments.js";
import { rotaryFrequencies } from "../../waves.js";

/**
 * The fastest frequencies of the whole head, and 0 for the others.
 * @param {number} rotary_dim channels of the head, rotated or not
 * @param {{base?: number, proportion: number, factor?: number}} options proportion is the share of
 *     pairs that rotate, factor the extension of the context
 * @returns {number[]} radians per position of each pair
 */
export function p_rope_frequencies(rotary_dim, { base = 10000, proportion, factor = 1 }) {
  even("rotary_dim", rotary_dim);
  above("base", base);
  atLeast("proportion", proportion, 0);
  if (proportion > 1) {
    throw new RangeError(`proportion is ${proportion}; it must be from 0 to 1`);
  }
  atLeast("factor", factor, 1);
  const kept = wholePart(proportion, rotary_dim / 2);
  return rotaryFrequencies(rotary_dim, base).map((w, t) => (t < kept ? w / factor : 0));
}

/**
 * floor(share * count), with the share as the decimal number that is written. As a float64, 0.7 is
 * a little less than 7/10, and 0.7 * 90 would give 62 pairs instead of 63.
 */
function wholePart(share, count) {
  const [digits, exponent] = share.toExponential().split("e");
  const decimals = digits.length - digits.indexOf(".") - 1;
  const places = (digits.includes(".") ? decimals : 0) - Number(exponent);
  const numerator = BigInt(digits.replace(".", "")) * BigInt(count);
  return Number(numerator / 10n ** BigInt(places));
}
