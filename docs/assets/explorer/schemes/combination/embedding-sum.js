/**
 * Token embeddings plus the sinusoid of their positions.
 * Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.4 and 3.5.
 */
import { above, choice, even, rowOfPositions } from "../../arguments.js";
import { withPositions } from "../../rows.js";
import { rotaryFrequencies, wave } from "../../waves.js";

/** The factor on embeddings of d channels. */
const FACTORS = { "d^1/2": (/** @type {number} */ d) => Math.sqrt(d), 1: () => 1 };

/**
 * @param {any[]} x nested lists of shape [..., n, dim]
 * @param {number[]} positions of the n rows
 * @param {object} [options]
 * @returns {any[]} like x
 */
export function embedding_sum(x, positions, { base = 10000, embedding_scale = "d^1/2" } = {}) {
  choice("embedding_scale", embedding_scale, Object.keys(FACTORS));
  above("base", base);
  rowOfPositions(positions);
  return withPositions(x, positions, (row, position) => {
    even("dim", row.length);
    const angles = rotaryFrequencies(row.length, base).map((w) => position * w);
    const encoding = wave(angles, "interleaved");
    const factor = FACTORS[embedding_scale](row.length);
    return row.map((value, channel) => factor * value + encoding[channel]);
  });
}
