/** A cache of turned keys, filled token by token, with the scores of the present query. */
import { rope } from "../explorer/schemes/rotary/rope.js";

const [TOKENS, PROMPT, BASE] = [8, 3, 16];
const UP = [1, 0, 1, 0];
const MIDDLES = [3.2, 2];

/** @param {{tokens: number, positions: string}} settings */
export function shown({ tokens, positions }) {
  const places = Array.from({ length: tokens }, (_, n) => n);
  const given = places.map((n) => (positions === "restart at 0" && n >= PROMPT ? 0 : n));
  const [right, got] = [places, given].map((some) => {
    const keys = rope(
      some.map(() => UP),
      some,
      { base: BASE },
    );
    const query = keys[tokens - 1]; // the same vector at the same position
    const scores = keys.map((key) => key.reduce((sum, x, c) => sum + x * query[c], 0) / 2);
    return { keys, query, scores };
  });
  const hands = (rows) =>
    MIDDLES.flatMap((y, pair) =>
      rows.map((row, n) => [
        [n, y],
        [n + 0.42 * row[2 * pair], y + 0.42 * row[2 * pair + 1]],
      ]),
    );
  const last = given[tokens - 1];
  const before = tokens - 2;
  return {
    strokes: {
      key: hands(got.keys),
      query: hands(got.keys.map(() => got.query)),
      score: got.scores.map((score, n) => [[n - 0.3, 0], [n + 0.3, score]]),
      right: right.scores.map((score, n) => [[n - 0.4, score], [n + 0.4, score]]),
    },
    said:
      `Token ${tokens - 1} gets position ${last}. Its query has with the key before it the score ` +
      `${written(got.scores[before])}; right is ${written(right.scores[before])}.`,
    names: { x: Array.from({ length: TOKENS }, (_, n) => `${given[n] ?? ""}`) },
  };
}

const written = (score) => score.toFixed(2).replace("-", "−");
