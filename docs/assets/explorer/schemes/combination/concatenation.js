/** Embeddings and the sinusoid of their positions, side by side. */
import { choice, even, rowOfPositions } from "../../arguments.js";
import { withPositions } from "../../rows.js";
import { sinusoidal } from "../absolute/sinusoidal.js";

/**
 * @param {any[]} x nested lists of shape [..., n, dim]
 * @param {number[]} positions of the n rows
 * @param {number} encoding_dim channels of the encoding
 * @param {object} [options] order: which part has the first channels
 * @returns {any[]} [..., n, dim + encoding_dim]
 */
export function concatenation(
  x,
  positions,
  encoding_dim,
  { base = 10000, order = "content-first" } = {},
) {
  choice("order", order, ["content-first", "encoding-first"]);
  even("encoding_dim", encoding_dim);
  rowOfPositions(positions);
  return withPositions(x, positions, (row, position) => {
    const [encoding] = sinusoidal([position], encoding_dim, { base });
    return order === "content-first" ? [...row, ...encoding] : [...encoding, ...row];
  });
}
