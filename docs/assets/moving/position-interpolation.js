/** Tokens of a text on a wave whose beginning was seen in training. */
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";

const TRAINED = 16;
const LONGEST = 64;

/** @param {{tokens: number, factor: number}} settings */
export function shown({ tokens, factor }) {
  const plain = position_interpolation_frequencies(8, { factor: 1 })[1];
  const slow = position_interpolation_frequencies(8, { factor })[1];
  const wave = (from, to) =>
    Array.from({ length: 2 * (to - from) + 1 }, (_, half) => {
      const place = from + half / 2;
      return [place, Math.cos(place * plain)];
    });
  const places = Array.from({ length: tokens }, (_, position) => [
    [(position * slow) / plain, Math.cos(position * slow)],
  ]);
  const beyond = places.filter(([[place]]) => place > TRAINED - 1 + 1e-9).length;
  return {
    strokes: { trained: [wave(0, TRAINED - 1)], beyond: [wave(TRAINED - 1, LONGEST)], token: places },
    said:
      `${tokens} tokens, ${(1 / factor).toFixed(3)} apart: ${beyond} of them stand beyond the last ` +
      "place that training has seen.",
  };
}
