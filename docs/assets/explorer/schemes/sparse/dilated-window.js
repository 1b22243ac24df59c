/**
 * Dilated sliding windows.
 * Source: Beltagy, Peters and Cohan 2020, "Longformer", section 3.1, and its released code.
 */
import { choice, whole } from "../../arguments.js";
import { mask, side } from "../../masks.js";

const REACHES = ["window-each-side", "window-before", "half-each-side"];

/**
 * Which keys each query may attend to: every dilation-th one near it.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} window attended keys, counted by `reach`, without the skipped ones
 * @param {number} dilation distance between two of these keys; 1 is no dilation
 * @param {object} [options]
 * @returns {boolean[][]} [q_len, k_len]
 */
export function dilated_window(q_len, k_len, window, dilation, { reach = "window-each-side" } = {}) {
  choice("reach", reach, REACHES);
  whole("dilation", dilation, 1);
  const before = side(window, reach);
  const after = reach === "window-before" ? 0 : before;
  return mask(q_len, k_len, (query, key) => {
    const steps = (key - query) / dilation;
    return Number.isInteger(steps) && steps >= -before && steps <= after;
  });
}
