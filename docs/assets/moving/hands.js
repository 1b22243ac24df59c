/** The two hands of a row of four channels. */
import { sinusoidal } from "../explorer/schemes/absolute/sinusoidal.js";

/** @param {{position: number}} settings */
export function shown({ position }) {
  const [row] = sinusoidal([position], 4);
  const hand = (pair, x) => [[[x, 0], [x + row[2 * pair], row[2 * pair + 1]]]];
  const numbers = row.map((each) => each.toFixed(2).replace("-", "−"));
  return {
    strokes: { fast: hand(0, 0), slow: hand(1, 2.6) },
    said: `Position ${position} has the row ${numbers.join(", ")}.`,
  };
}
