/** The position itself in every channel: a counter-example. */
import { rowOfPositions, whole } from "../../arguments.js";

/**
 * @param {number[]} positions
 * @param {number} dim channels
 * @returns {number[][]} [n, dim]
 */
export function integer(positions, dim) {
  rowOfPositions(positions);
  whole("dim", dim, 1);
  return positions.map((position) => Array(dim).fill(position));
}
