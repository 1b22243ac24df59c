/** The five lowest digits of positions, and a smooth wave in the place of each. */
import { binary } from "../explorer/schemes/absolute/binary.js";

const DIGITS = [0, 1, 2, 3, 4];
const POSITIONS = Array.from({ length: 32 }, (_, n) => n);
const PLACES = Array.from({ length: 257 }, (_, n) => n / 8);

const smooth = (x, k) => (1 - Math.cos((Math.PI * (x - (2 ** k - 1) / 2)) / 2 ** k)) / 2;

/** @param {{position: number}} settings */
export function shown({ position }) {
  const counted = binary(POSITIONS, DIGITS.length);
  const row = DIGITS.map((k) => smooth(position, k));
  return {
    strokes: {
      digit: DIGITS.map((k) =>
        counted.flatMap((each, n) => [-0.5, 0.5].map((end) => [n + end, each[k] - 1.5 * k])),
      ),
      wave: DIGITS.map((k) => PLACES.map((x) => [x, smooth(x, k) - 1.5 * k])),
      row: row.map((each, k) => [[position, each - 1.5 * k]]),
    },
    said:
      `Position ${position}. Digits: ${counted[position].join(" ")}. ` +
      `Waves: ${row.map((each) => each.toFixed(2)).join(", ")}.`,
  };
}
