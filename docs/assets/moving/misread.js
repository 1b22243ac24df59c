/** The effect of a wrong base on the score of a query and a key, by their distance. */
import { rope } from "../explorer/schemes/rotary/rope.js";

const TRAINED = 500_000;
const DIM = 128;
const READ = [4, 12];
const QUARTERS = 4 * 12;
const FEW = 16;
const UP = Array.from({ length: DIM }, (_, channel) => 1 - (channel % 2));
const POINTS = Array.from({ length: QUARTERS + 1 }, (_, quarter) => [quarter / 4, near(quarter)]);

/** Some distances near a quarter of a power of two: single ones jump, as the fastest pairs turn. */
function near(quarter) {
  const [low, high] = [-0.5, 0.5].map((side) => 2 ** ((quarter + side) / 4));
  const steps = Array.from({ length: FEW }, (_, step) => low + ((high - low) * step) / (FEW - 1));
  return [...new Set(steps.map((step) => Math.floor(step + 0.5)))];
}

function scores(base) {
  const every = POINTS.flatMap(([, distances]) => distances);
  const turned = rope(every.map(() => UP), every, { base });
  const score = (row) => (row.reduce((sum, each, c) => sum + each * UP[c], 0) * 2) / DIM;
  const found = new Map(every.map((distance, n) => [distance, score(turned[n])]));
  const mean = (all) => all.reduce((sum, each) => sum + found.get(each), 0) / all.length;
  return new Map(POINTS.map(([power, distances]) => [power, mean(distances)]));
}

const curve = (found) => [[...found]];

const right = scores(TRAINED);

/** @param {{base: number}} settings */
export function shown({ base }) {
  const read = scores(base);
  const said = READ.map(
    (power) =>
      `about ${(2 ** power).toLocaleString("en")} tokens apart, ${right.get(power).toFixed(2)} and ` +
      read.get(power).toFixed(2),
  );
  return {
    strokes: { trained: curve(right), read: curve(read) },
    said: `Score as trained and in your code: ${said.join("; ")}.`.replaceAll("-", "−"),
  };
}
