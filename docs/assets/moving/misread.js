/** The effect of a wrong base on the score of a query and a key, by their distance. */
import { rope } from "../explorer/schemes/rotary/rope.js";

const TRAINED = 500_000;
const DIM = 128;
const READ = [16, 4096];
const EIGHTHS = Array.from({ length: 8 * 12 + 1 }, (_, eighth) => Math.round(2 ** (eighth / 8)));
const DISTANCES = [...new Set(EIGHTHS)];
const UP = Array.from({ length: DIM }, (_, channel) => 1 - (channel % 2));

function scores(base) {
  const turned = rope(DISTANCES.map(() => UP), DISTANCES, { base });
  const score = (row) => (row.reduce((sum, each, c) => sum + each * UP[c], 0) * 2) / DIM;
  return new Map(DISTANCES.map((distance, n) => [distance, score(turned[n])]));
}

const curve = (found) => [[...found].map(([distance, score]) => [Math.log2(distance), score])];

const right = scores(TRAINED);

/** @param {{base: number}} settings */
export function shown({ base }) {
  const read = scores(base);
  const said = READ.map(
    (distance) =>
      `${distance.toLocaleString("en")} tokens apart, ${right.get(distance).toFixed(2)} and ` +
      read.get(distance).toFixed(2),
  );
  return {
    strokes: { trained: curve(right), read: curve(read) },
    said: `Score as trained and in your code: ${said.join("; ")}.`.replaceAll("-", "−"),
  };
}
