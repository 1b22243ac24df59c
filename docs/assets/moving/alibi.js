/** The attention weights of a head over identical keys. */
import { alibi_bias, alibi_slopes } from "../explorer/schemes/bias/alibi.js";

const KEYS = 64;

/** @param {{heads: number, head: number}} settings */
export function shown({ heads, head }) {
  const which = Math.min(head, heads);
  const [bias] = alibi_bias(heads, 1, KEYS)[which - 1];
  const factors = bias.map(Math.exp).reverse();
  const sum = factors.reduce((a, b) => a + b);
  let [keys, share] = [0, 0];
  while (share < 0.5) {
    share += factors[keys++] / sum;
  }
  const slope = alibi_slopes(heads)[which - 1];
  return {
    strokes: { weight: factors.map((each, distance) => [[distance, 0], [distance, each / sum]]) },
    said:
      `Head ${which} of ${heads} loses 1 with every ${(1 / slope).toFixed(1)} tokens. Half of its ` +
      `attention goes to the nearest ${keys} of ${KEYS} keys.`,
  };
}
