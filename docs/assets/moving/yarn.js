/** Each pair's new frequency. */
import { position_interpolation_frequencies } from "../explorer/schemes/rotary/position-interpolation.js";
import { yarn_frequencies } from "../explorer/schemes/rotary/yarn.js";

const HEAD_DIM = 128;

/** @param {{factor: number, original: number, base: number}} settings */
export function shown({ factor, original, base }) {
  const plain = position_interpolation_frequencies(HEAD_DIM, { base, factor: 1 });
  const alike = position_interpolation_frequencies(HEAD_DIM, { base, factor });
  const found = yarn_frequencies(HEAD_DIM, {
    base,
    factor,
    original_max_position_embeddings: original,
  });
  const part = (some) => some.map((each, pair) => [pair, each / plain[pair]]);
  const kept = part(found).filter(([, each]) => each > 1 - 1e-9).length;
  const slowed = part(found).filter(([, each]) => each < 1 / factor + 1e-9).length;
  const longer = 0.1 * Math.log(factor) + 1;
  return {
    strokes: { yarn: [part(found)], alike: [part(alike)] },
    said:
      factor === 1
        ? "With factor 1 it is RoPE: all 64 pairs keep their frequency."
        : `The ${kept} fastest pairs keep their frequency, the ${slowed} slowest are divided by ` +
          `${factor}. Queries and keys become ${longer.toFixed(3)} times as long.`,
  };
}
