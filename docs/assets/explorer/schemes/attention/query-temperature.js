/**
 * Queries made longer with their position.
 * Source: the code of Llama 4 and Ministral 3 for factors that grow in steps; that of Qwen and Grok
 * 2 for the logarithm.
 */
import { atLeast, choice, rowOfPositions, whole } from "../../arguments.js";
import { withPositions } from "../../rows.js";

/**
 * Queries, each times 1 + beta * ln(1 + floor(n / length)) for the query with number n.
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
 * Queries, each times ln(n) / ln(length) for the query with number n, but at least once.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the rows, from 0 on
 * @param {object} [options] length: what the model was trained for
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
