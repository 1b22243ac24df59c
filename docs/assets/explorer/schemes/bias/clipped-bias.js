/**
 * A learned number for each head and clipped distance.
 * Source: the clipped distances of Shaw, Uszkoreit and Vaswani 2018, "Self-Attention with Relative
 * Position Representations", section 3.2, with numbers in place of vectors.
 */
import { lengths } from "../../arguments.js";

/**
 * The bias added to the attention logits: row clip(j - i, -k, k) + k of the table, for position i
 * of a query and j of a key. Query number n is at position k_len - q_len + n.
 * @param {number[][]} table [2k + 1, heads], the learned biases
 * @param {number} q_len
 * @param {number} k_len
 * @returns {number[][][]} [heads, q_len, k_len]
 */
export function clipped_bias(table, q_len, k_len) {
  lengths(q_len, k_len);
  if (table.length % 2 === 0) {
    throw new RangeError(`table has ${table.length} rows; offsets from -k to k need 2k + 1`);
  }
  const k = (table.length - 1) / 2;
  return table[0].map((_, head) =>
    Array.from({ length: q_len }, (_, query) =>
      Array.from({ length: k_len }, (_, key) => {
        const offset = key - (k_len - q_len + query);
        return table[Math.min(Math.max(offset, -k), k) + k][head];
      }),
    ),
  );
}
