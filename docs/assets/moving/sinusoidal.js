/** The waves of four pairs, and their values at a position. */
import { sinusoidal } from "../explorer/schemes/absolute/sinusoidal.js";

const PLACES = Array.from({ length: 129 }, (_, half) => half / 2);

/** @param {{position: number, base: number}} settings */
export function shown({ position, base }) {
  const rows = sinusoidal(PLACES, 8, { base });
  const [row] = sinusoidal([position], 8, { base });
  const pairs = [0, 1, 2, 3];
  const wave = (channel) =>
    pairs.map((pair) => rows.map((each, i) => [PLACES[i], each[2 * pair + channel] - 2.5 * pair]));
  const numbers = row.map((each) => each.toFixed(2).replace("-", "−"));
  return {
    strokes: {
      sine: wave(0),
      cosine: wave(1),
      row: row.map((each, channel) => [[position, each - 2.5 * Math.floor(channel / 2)]]),
    },
    said: `The row of position ${position}: ${numbers.join(", ")}.`,
  };
}
