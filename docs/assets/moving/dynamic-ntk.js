/** Each pair's new frequency as a text grows. */
import { dynamic_ntk_frequencies } from "../explorer/schemes/rotary/dynamic-ntk.js";
import { ntk_aware_frequencies } from "../explorer/schemes/rotary/ntk-aware.js";
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";

const HEAD_DIM = 128;
const TRAINED = 2048;

/** @param {{length: number, factor: number}} settings */
export function shown({ length, factor }) {
  const plain = position_interpolation_frequencies(HEAD_DIM, { factor: 1 });
  const always = ntk_aware_frequencies(HEAD_DIM, { factor });
  const found = dynamic_ntk_frequencies(HEAD_DIM, {
    factor,
    original_max_position_embeddings: TRAINED,
    length,
  });
  const part = (some) => [some.map((each, pair) => [pair, each / plain[pair]])];
  const words = length.toLocaleString("en");
  return {
    strokes: { always: part(always), dynamic: part(found) },
    said:
      length <= TRAINED
        ? `${words} tokens, no more than in training: it is RoPE.`
        : `${words} tokens: the slowest pair is divided by ${(plain[63] / found[63]).toFixed(2)}. ` +
          "The next token will change all pairs but the fastest.",
  };
}
