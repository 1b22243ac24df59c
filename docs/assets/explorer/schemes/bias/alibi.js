/**
 * Attention with linear biases.
 * Source: Press, Smith and Lewis 2022, "Train Short, Test Long", section 3.
 */
import { choice, lengths, whole } from "../../arguments.js";

/** The factor of the slope m of a head, for key j, query i and k_len keys. */
const FORMS = {
  causal: (/** @type {number} */ j, /** @type {number} */ i) => j - i,
  symmetric: (/** @type {number} */ j, /** @type {number} */ i) => -Math.abs(j - i),
  "first-key": (/** @type {number} */ j) => j,
  "last-key": (/** @type {number} */ j, /** @type {number} */ _i, /** @type {number} */ k_len) =>
    j - (k_len - 1),
  "key-from-1": (/** @type {number} */ j) => j + 1,
};

/**
 * The slope of each head: 2^(-8h / n) with h = 1 … n for n heads, n a power of two.
 * For other n the authors' code takes the slopes of the power of two P below n and then every
 * second one of 2P ("interpolated"); the paper's words are the same formula for any n ("uniform").
 * @param {number} heads
 * @param {object} [options]
 * @returns {number[]} [heads]
 */
export function alibi_slopes(heads, { head_rule = "interpolated" } = {}) {
  whole("heads", heads, 1);
  choice("head_rule", head_rule, ["interpolated", "uniform"]);
  const below = head_rule === "uniform" ? heads : 2 ** Math.floor(Math.log2(heads));
  return Array.from({ length: heads }, (_, index) =>
    index < below
      ? 2 ** ((-8 * (index + 1)) / below)
      : 2 ** ((-4 * (2 * (index - below) + 1)) / below),
  );
}

/**
 * The bias added to the attention logits after their division by sqrt(head_dim). Query number i is
 * at position k_len - q_len + i, key j at position j.
 * @param {number} heads
 * @param {number} q_len
 * @param {number} k_len
 * @param {object} [options]
 * @returns {number[][][]} [heads, q_len, k_len]
 */
export function alibi_bias(
  heads,
  q_len,
  k_len,
  { form = "causal", head_rule = "interpolated" } = {},
) {
  choice("form", form, Object.keys(FORMS));
  lengths(q_len, k_len);
  const distance = FORMS[form];
  return alibi_slopes(heads, { head_rule }).map((slope) =>
    Array.from({ length: q_len }, (_, query) =>
      Array.from(
        { length: k_len },
        (_, key) => {
          const place = k_len - q_len + query;
          const is_hidden = form !== "symmetric" && key > place;
          return is_hidden ? -Infinity : slope * distance(key, place, k_len);
        },
      ),
    ),
  );
}
