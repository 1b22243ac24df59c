/** Four pairs of a query and a key, each rotated by its position. */
import { rope } from "../explorer/schemes/rotary/rope.js";

const UP = [1, 0, 1, 0, 1, 0, 1, 0];

/** @param {{key: number, distance: number, base: number}} settings */
export function shown({ key, distance, base }) {
  const [q, k] = rope([UP, UP], [key + distance, key], { base });
  const product = q.reduce((sum, each, channel) => sum + each * k[channel], 0);
  return {
    strokes: { query: hands(q), key: hands(k) },
    said:
      `Query at position ${key + distance}, key at ${key}. Their dot product is ` +
      `${product.toFixed(3).replace("-", "−")}, wherever the key stands.`,
  };
}

const hands = (row) =>
  [0, 1, 2, 3].map((pair) => [
    [2.4 * pair, 0],
    [2.4 * pair + row[2 * pair], row[2 * pair + 1]],
  ]);
