/** The binary digits of the position: the attempt that leads to the sinusoid. */
import { choice, rowOfPositions, whole } from "../../arguments.js";

/**
 * @param {number[]} positions from 0 to 2^dim - 1
 * @param {number} dim channels, one for each digit
 * @param {object} [options]
 * @returns {number[][]} [n, dim]
 */
export function binary(positions, dim, { order = "lsb-first", levels = "zero-one" } = {}) {
  rowOfPositions(positions);
  whole("dim", dim, 1);
  choice("order", order, ["lsb-first", "msb-first"]);
  choice("levels", levels, ["zero-one", "plus-minus-one"]);
  return positions.map((position) => {
    if (position < 0 || position >= 2 ** dim) {
      throw new RangeError(`positions hold ${position}; ${dim} digits count from 0 to 2^${dim}-1`);
    }
    // By division, as the operators >> and & only see the last 32 bits.
    const digits = Array.from({ length: dim }, (_, digit) => Math.floor(position / 2 ** digit) % 2);
    if (order === "msb-first") {
      digits.reverse();
    }
    return levels === "zero-one" ? digits : digits.map((digit) => 2 * digit - 1);
  });
}
