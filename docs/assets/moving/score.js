/** The score of one pair at two bases, and its rounding error. */
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";

const FARTHEST = 256;
const ROUNDINGS = 5 + 16 / 4;

/** @param {{pair: number, base: number, bits: number}} settings */
export function shown({ pair, base, bits }) {
  const distances = Array.from({ length: FARTHEST + 1 }, (_, distance) => distance);
  const scores = (chosen) => {
    const omega = position_interpolation_frequencies(128, { base: chosen, factor: 1 })[pair];
    return distances.map((distance) => Math.cos(distance * omega));
  };
  const [right, other] = [scores(500000), scores(base)];
  const bound = ROUNDINGS * 2 ** -bits;
  const line = (some) => some.map((each, distance) => [distance, each]);
  const edges = [-1, 1].map((sign) => line(right.map((each) => each + sign * bound)));
  const first = distances.find((each) => Math.abs(right[each] - other[each]) > bound);
  const where =
    first === undefined ? `at no distance up to ${FARTHEST}` : `from distance ${first} on`;
  return {
    strokes: { right: [line(right)], other: [line(other)], bound: edges },
    said:
      `A right engine may be off by ${written(bound)}. ` +
      `The other base is told apart ${where}.`,
  };
}

const written = (number) => number.toExponential(1).replace(/-(\d)$/, "-0$1");
