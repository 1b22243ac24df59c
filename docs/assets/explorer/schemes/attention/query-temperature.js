/**
 * Queries scaled by a factor that grows with the position.
 * Source: the code of Llama 4 and Ministral 3 for factors that grow in steps; that of Qwen and Grok
 * 2 for the logarithm.
 */
import { atLeast, choice, rowOfPositions, whole } from "../../arguments.js";
import { withPositions } from "../../rows.js";

/**
 * Queries, the one with number n times 1 + beta * ln(1 + floor(n / length)).
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the rows, from 0 on
 * @param {object} [options] count: whether the query at position 0 has the number 0 or 1
 * @returns {any[]} like x
 */
export function query_temperature(
  x,
  positions,
  { length = 8192, beta = 0.1, count = "from-1" } = {},
) {
  whole("length", length, 1);
  atLeast("beta", beta, 0);
  const factor = (/** @type {number} */ n) => 1 + beta * Math.log1p(Math.floor(n / length));
  return scaled(x, positions, factor, count);
}

/**
 * Queries, the one with number n times ln(n) / ln(length), but at least times 1.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the rows, from 0 on
 * @param {object} [options] length: length of the model's training
 * @returns {any[]} like x
 */
export function query_log_scale(x, positions, { length = 2048, count = "from-1" } = {}) {
  whole("length", length, 2);
  const factor = (/** @type {number} */ n) =>
    n > length ? Math.log(n) / Math.log(length) : 1;
  return scaled(x, positions, factor, count);
}

function scaled(x, positions, factor, count) {
  choice("count", count, ["from-0", "from-1"]);
  rowOfPositions(positions);
  if (positions.some((position) => position < 0)) {
    throw new RangeError(`positions hold ${Math.min(...positions)}; they count from 0`);
  }
  const first = count === "from-1" ? 1 : 0;
  return withPositions(x, positions, (row, position) => {
    const times = factor(position + first);
    return row.map((value) => value * times);
  });
}
