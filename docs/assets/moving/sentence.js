/** The attention of a toy with one head between the words of a sentence. */
import { sinusoidal } from "../explorer/schemes/absolute/sinusoidal.js";
import { rope } from "../explorer/schemes/rotary/rope.js";

const [CHANNELS, MOST, LETTERS] = [8, 6, 6];

/** Numbers from −2 to 2 for a word, the same for the same letters: FNV-1a and a generator. */
function embedding(word) {
  let state = 2166136261;
  for (const byte of new TextEncoder().encode(word.toLowerCase())) {
    state = Math.imul(state ^ byte, 16777619) >>> 0;
  }
  return Array.from({ length: CHANNELS }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (4 * state) / 2 ** 32 - 2;
  });
}

/** Each query is the row of its token, moved on by one channel. */
const query = (row) => [row[CHANNELS - 1], ...row.slice(0, -1)];

function attention(words, positions) {
  const places = words.map((_, n) => n);
  const added = sinusoidal(places, CHANNELS);
  const rows = words.map((word, n) =>
    embedding(word).map((x, c) => x + (positions === "sinusoid" ? added[n][c] : 0)),
  );
  const turned = (some) => (positions === "RoPE" ? rope(some, places) : some);
  const [queries, keys] = [turned(rows.map(query)), turned(rows)];
  return queries.map((q) => {
    const powers = keys.map((k) =>
      Math.exp(q.reduce((sum, x, c) => sum + x * k[c], 0) / Math.sqrt(CHANNELS)),
    );
    const sum = powers.reduce((total, each) => total + each, 0);
    return powers.map((each) => each / sum);
  });
}

/** The largest difference from the weights of the same words in the order of the alphabet. */
function difference(words, weights, positions) {
  const order = words.map((_, n) => n).sort((a, b) => (words[a] > words[b]) - (words[a] < words[b]));
  const sorted = attention(
    order.map((n) => words[n]),
    positions,
  );
  const gaps = order.flatMap((a, row) =>
    order.map((b, column) => Math.abs(sorted[row][column] - weights[a][b])),
  );
  return Math.max(0, ...gaps);
}

/** @param {{words: string[], moved: number, positions: string}} settings */
export function shown({ words, moved, positions }) {
  const start = moved % words.length;
  const order = [...words.slice(start), ...words.slice(0, start)];
  const weights = attention(order, positions);
  const most = difference(order, weights, positions);
  const short = order.map((word) => {
    const letters = [...word];
    return letters.length > LETTERS ? `${letters.slice(0, LETTERS - 1).join("")}…` : word;
  });
  const places = words.map((_, n) => (n - start + words.length) % words.length);
  const names = [...short, ...Array(MOST - words.length).fill("")];
  return {
    strokes: {
      // In the order as typed, so that a square glides to the new place of its words.
      weight: places.flatMap((n) =>
        places.map((m) => {
          const half = 0.48 * Math.sqrt(weights[n][m]);
          return [[m + 0.5 - half, n + 0.5 - half], [m + 0.5 + half, n + 0.5 + half]];
        }),
      ),
    },
    said: said(words, most),
    names: { x: names, y: names },
  };
}

function said(words, most) {
  if (words.length < 2) {
    return "Type two words or more.";
  }
  const sorted = "With the words in the order of the alphabet";
  return most < 0.005
    ? `${sorted}, every word would take the same from every other.`
    : `${sorted}, weights would differ by up to ${most.toFixed(2)}.`;
}
