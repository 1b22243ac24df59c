/** The weights of three words for one word, by a softmax of its scores. */
const WORDS = ["dog", "bites", "man"];

/** @param {{score: number, divisor: number}} settings */
export function shown({ score, divisor }) {
  const powers = [4, 1, score].map((each) => Math.exp(each / divisor));
  const sum = powers.reduce((total, each) => total + each);
  const weights = powers.map((each) => each / sum);
  const bar = (weight, place) => [[[place + 0.15, 0], [place + 0.85, weight]]];
  const words = weights.map((each, place) => `${each.toFixed(2)} from ${WORDS[place]}`);
  return {
    strokes: Object.fromEntries(WORDS.map((word, place) => [word, bar(weights[place], place)])),
    said: `Bites takes ${words.join(", ")}.`,
  };
}
