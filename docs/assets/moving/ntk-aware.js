/** How a larger base tilts the line of frequencies, and interpolation moves it. */
import { ntk_aware_frequencies } from "../explorer/schemes/rotary/ntk-aware.js";
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";

const HEAD_DIM = 128;
const MIDDLE = 32;

/** @param {{factor: number, base: number}} settings */
export function shown({ factor, base }) {
  const plain = position_interpolation_frequencies(HEAD_DIM, { base, factor: 1 });
  const alike = position_interpolation_frequencies(HEAD_DIM, { base, factor });
  const found = ntk_aware_frequencies(HEAD_DIM, { base, factor });
  const powers = (some) => [some.map((each, pair) => [pair, Math.log10(each)])];
  const larger = Math.round(base * factor ** (HEAD_DIM / (HEAD_DIM - 2)));
  return {
    strokes: { plain: powers(plain), alike: powers(alike), tilted: powers(found) },
    said:
      `The base becomes ${larger.toLocaleString("en")}. Pair 0 stays, pair ${MIDDLE} is divided ` +
      `by ${(plain[MIDDLE] / found[MIDDLE]).toFixed(2)}, pair 63 by ${factor}.`,
  };
}
