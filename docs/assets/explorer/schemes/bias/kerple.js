/**
 * KERPLE.
 * Source: Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length
 * Extrapolation", section 4.
 */
import { above, choice, lengths } from "../../arguments.js";

/** The factor of r1 at each distance. */
const LOSSES = {
  log: (/** @type {number} */ distance, /** @type {number} */ r2) => Math.log1p(r2 * distance),
  power: (/** @type {number} */ distance, /** @type {number} */ r2) => distance ** r2,
};

/**
 * The bias added to the attention logits: falling with the distance, by two learned numbers of each
 * head. Query number i is at position k_len - q_len + i, key j at position j.
 * @param {number[]} r1 [heads] above 0
 * @param {number[]} r2 [heads] above 0, in the power form at most 2
 * @param {number} q_len
 * @param {number} k_len
 * @param {object} [options]
 * @returns {number[][][]} [heads, q_len, k_len], minus infinity for keys after the query
 */
export function kerple_bias(r1, r2, q_len, k_len, { form = "log" } = {}) {
  choice("form", form, Object.keys(LOSSES));
  lengths(q_len, k_len);
  if (r1.length !== r2.length || !r1.length) {
    throw new RangeError(`r1 has ${r1.length} heads and r2 ${r2.length}; give both as many`);
  }
  return r1.map((factor, head) => {
    above("r1", factor);
    above("r2", r2[head]);
    if (form === "power" && r2[head] > 2) {
      throw new RangeError(`r2 is ${r2[head]}; in the power form it must be at most 2`);
    }
    return Array.from({ length: q_len }, (_, query) =>
      Array.from({ length: k_len }, (_, key) => {
        const distance = k_len - q_len + query - key;
        return distance < 0 ? -Infinity : -factor * LOSSES[form](distance, r2[head]);
      }),
    );
  });
}
