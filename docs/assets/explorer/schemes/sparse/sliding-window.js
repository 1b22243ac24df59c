/**
 * Sliding windows.
 * Source: Beltagy, Peters and Cohan 2020, "Longformer", section 3.1; Jiang et al. 2023, "Mistral
 * 7B", section 2; window_size of flash-attention.
 */
import { choice } from "../../arguments.js";
import { mask, side } from "../../masks.js";

const REACHES = ["window-keys", "window-before", "window-each-side", "half-each-side"];

/**
 * Which keys each query may attend to: those near it.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} window size, counted by `reach`
 * @param {object} [options]
 * @returns {boolean[][]} [q_len, k_len]
 */
export function sliding_window(q_len, k_len, window, { reach = "window-keys" } = {}) {
  choice("reach", reach, REACHES);
  const before = side(window, reach);
  const after = reach.endsWith("each-side") ? before : 0;
  return mask(q_len, k_len, (query, key) => key >= query - before && key <= query + after);
}
