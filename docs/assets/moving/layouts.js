/** The score of a head whose parameters have one layout, by code with the same or another one. */
import { rope } from "../explorer/schemes/rotary/rope.js";
import { PAIR, rotaryFrequencies } from "../explorer/waves.js";

const [DIM, BASE, BACK, FARTHEST] = [8, 16, 3, 16];
const LAYOUTS = { neighbours: "interleaved", halves: "half" };
const PAIRS = [0, 1, 2, 3];
const DISTANCES = Array.from({ length: FARTHEST + 1 }, (_, distance) => distance);

const channels = (name) => PAIRS.map((t) => PAIR[LAYOUTS[name]](t, DIM));

/** A query and a key whose score is highest at the distance 3. */
function learned(name) {
  const [query, key] = [Array(DIM).fill(0), Array(DIM).fill(0)];
  rotaryFrequencies(DIM, BASE).forEach((omega, t) => {
    const [first, second] = channels(name)[t];
    [query[first], query[second]] = [Math.cos(BACK * omega), -Math.sin(BACK * omega)];
    key[first] = 1;
  });
  return [query, key];
}

function scores(weights, code) {
  const [query, key] = learned(weights);
  const options = { base: BASE, layout: LAYOUTS[code] };
  const queries = rope(
    DISTANCES.map(() => query),
    DISTANCES,
    options,
  );
  return queries.map((row) => row.reduce((sum, x, channel) => sum + x * key[channel], 0) / 4);
}

/** A bracket that joins the two channels of each pair. */
const brackets = (name, from, step) =>
  channels(name).map(([first, second], t) => {
    const [a, b, y] = [1 + 2 * first, 1 + 2 * second, from + step * (name === "halves" ? t + 1 : 1)];
    return [[a, from], [a, y], [b, y], [b, from]];
  });

/** @param {{distance: number, weights: string, code: string}} settings */
export function shown({ distance, weights, code }) {
  const [right, got] = [scores(weights, weights), scores(weights, code)];
  const curve = (some) => some.map((score, n) => [n, score]);
  const [first, second] = channels(weights)[0];
  const [turned, other] = channels(code)[0];
  const agree =
    weights === code
      ? `Both pair channel ${first} with ${second}.`
      : `The weights pair channel ${first} with ${second}, the code turns ${turned} with ${other}.`;
  const tokens = distance === 1 ? "token" : "tokens";
  return {
    strokes: {
      weights: [curve(right), ...brackets(weights, 1.85, -0.12)],
      code: [curve(got), ...brackets(code, 2.45, 0.12)],
      now: [[[distance, got[distance]]]],
    },
    said:
      `${agree} The score ${distance} ${tokens} back is ${written(got[distance])}; ` +
      `right is ${written(right[distance])}.`,
  };
}

const written = (score) => score.toFixed(2).replace("-", "−");
