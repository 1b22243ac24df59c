/**
 * Causal masks.
 * Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3; for fewer queries than
 * keys, flash-attention's README.
 */
import { choice, whole } from "../../arguments.js";

/**
 * Which keys each query may attend to: those up to its own position. Either length may be larger.
 * @param {number} q_len
 * @param {number} k_len
 * @param {object} [options] alignment: the last query is at the last key, or the first at the first
 * @returns {boolean[][]} [q_len, k_len]
 */
export function causal_mask(q_len, k_len, { alignment = "end" } = {}) {
  whole("q_len", q_len, 0);
  whole("k_len", k_len, 0);
  choice("alignment", alignment, ["end", "start"]);
  const first = alignment === "end" ? k_len - q_len : 0;
  return Array.from({ length: q_len }, (_, i) =>
    Array.from({ length: k_len }, (_, key) => key <= first + i),
  );
}
