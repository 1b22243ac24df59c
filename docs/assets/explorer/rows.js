/** Rows of queries, keys or embeddings, under any axes of batches and heads. */

/**
 * Map every row of x, with its position, by `make`.
 * @param {any[]} x nested lists of shape [..., n, channels]
 * @param {number[]} positions of the n rows
 * @param {(row: number[], position: number) => number[]} make
 * @returns {any[]} the same axes, with the rows that `make` returns
 */
export function withPositions(x, positions, make) {
  if (x.flat(Infinity).length === 0) {
    return structuredClone(x); // lists do not say how long the axes after an empty one are
  }
  if (Array.isArray(x[0][0])) {
    return x.map((part) => withPositions(part, positions, make));
  }
  if (x.length !== positions.length) {
    throw new RangeError(`there are ${positions.length} positions for ${x.length} rows of x`);
  }
  return x.map((row, i) => make(row, positions[i]));
}
