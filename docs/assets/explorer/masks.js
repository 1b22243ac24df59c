/** Shared code of the masks: positions of queries and keys. */
import { lengths, whole } from "./arguments.js";

/**
 * Which keys each query may attend to. Query number i is at position k_len - q_len + i, key j
 * at position j.
 * @param {number} q_len
 * @param {number} k_len
 * @param {(query: number, key: number) => boolean} allowed
 * @returns {boolean[][]} [q_len, k_len]
 */
export function mask(q_len, k_len, allowed) {
  lengths(q_len, k_len);
  return Array.from({ length: q_len }, (_, i) =>
    Array.from({ length: k_len }, (_, key) => allowed(k_len - q_len + i, key)),
  );
}

/**
 * Number of keys that a window covers on one side, without the query's own.
 * @param {number} window
 * @param {string} reach
 */
export function side(window, reach) {
  whole("window", window, reach === "window-keys" ? 1 : 0);
  if (reach === "window-keys") {
    return window - 1;
  }
  if (reach === "half-each-side" && window % 2) {
    throw new RangeError(`window is ${window}; half of it lies on each side, so it must be even`);
  }
  return reach === "half-each-side" ? window / 2 : window;
}
