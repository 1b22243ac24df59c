/** Each pair's new frequency. */
import { llama3_frequencies } from "../explorer/schemes/rotary/llama3.js";
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";

const HEAD_DIM = 128;
const BASE = 500000;

/** @param {{factor: number, low: number, high: number, original: number}} settings */
export function shown({ factor, low, high, original }) {
  const plain = position_interpolation_frequencies(HEAD_DIM, { base: BASE, factor: 1 });
  const alike = position_interpolation_frequencies(HEAD_DIM, { base: BASE, factor });
  const found = llama3_frequencies(HEAD_DIM, {
    base: BASE,
    factor,
    low_freq_factor: low,
    high_freq_factor: high,
    original_max_position_embeddings: original,
  });
  const part = (some) => some.map((each, pair) => [pair, each / plain[pair]]);
  const kept = part(found).filter(([, each]) => each > 1 - 1e-9).length;
  const slowed = part(found).filter(([, each]) => each < 1 / factor + 1e-9).length;
  return {
    strokes: { llama3: [part(found)], alike: [part(alike)] },
    said:
      factor === 1
        ? "With factor 1 it is RoPE: all 64 pairs keep their frequency."
        : `${kept} pairs keep their frequency, ${64 - kept - slowed} lie on the ramp, and ` +
          `${slowed} are divided by ${factor}.`,
  };
}
