/** One row of the sinusoid: in the map, as hands, and its dot product with each row. */
import { sinusoidal } from "../explorer/schemes/absolute/sinusoidal.js";

const [ROWS, CHANNELS] = [24, 16];
const [PITCH, TOP, ZERO, SCALE] = [0.9, 7.4, 22, 1.8];

const rows = sinusoidal(
  Array.from({ length: ROWS }, (_, n) => n),
  CHANNELS,
);

/** @param {{position: number}} settings */
export function shown({ position }) {
  const row = rows[position];
  const products = rows.map((each) => each.reduce((sum, x, channel) => sum + x * row[channel], 0));
  const bars = products.map((product, n) => bar(n, ZERO, ZERO + SCALE * product));
  const [[left, upper], [right, lower]] = bar(position, -0.2, CHANNELS * 1.15 + 0.2);
  return {
    strokes: {
      hands: Array.from({ length: CHANNELS / 2 }, (_, t) => {
        const x = 2.1 + 4.75 * t;
        return [[x, 2.4], [x + 2 * row[2 * t], 2.4 - 2 * row[2 * t + 1]]];
      }),
      product: bars.filter((_, n) => n !== position),
      chosen: [bars[position]],
      row: [[[left, upper], [right, upper], [right, lower], [left, lower], [left, upper]]],
    },
    said: `The dot product of row ${position} is ${products
      .map((product, n) => [n, product])
      .filter(([n]) => [position, position - 1, position + 1, position + 8].includes(n))
      .map(([n, product]) => `${product.toFixed(2).replace("-", "−")} with row ${n}`)
      .join(", ")}.`,
  };
}

/** Opposite corners of a bar beside a row. */
const bar = (n, from, to) => [
  [from, TOP + PITCH * n + 0.05],
  [to, TOP + PITCH * (n + 1) - 0.05],
];
