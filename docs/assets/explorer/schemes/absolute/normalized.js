/** The position as a fraction of the length: a counter-example. */
import { whole } from "../../arguments.js";

/**
 * p / (length - 1) for every position p = 0 … length - 1, in every channel.
 * @param {number} length positions, at least 2: for a single one the quotient would be 0/0
 * @param {number} dim channels
 * @returns {number[][]} [length, dim]
 */
export function normalized(length, dim) {
  whole("length", length, 2);
  whole("dim", dim, 1);
  return Array.from({ length }, (_, position) => Array(dim).fill(position / (length - 1)));
}
