/**
 * Polar position embedding.
 * Source: Gopalakrishnan et al. 2025, "Decoupling the What and Where With Polar Coordinate
 * Positional Embeddings", as released in x-transformers and PoPE-pytorch.
 */
import { above, choice, rowOfPositions } from "../../arguments.js";
import { withPositions } from "../../rows.js";
import { progression } from "../../waves.js";

/**
 * Queries: channel j of the d channels becomes the length softplus(x_j) at the angle
 * p * base^(-j / d), as a cosine and a sine.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the n rows
 * @param {object} [options]
 * @returns {any[]} [..., n, 2 * head_dim]
 */
export function pope_query(x, positions, { layout = "interleaved", base = 10000 } = {}) {
  return polar(x, positions, () => 0, layout, base);
}

/**
 * Keys: the same, with a learned phase added to the angle of each channel.
 * @param {any[]} x nested lists of shape [..., n, head_dim]
 * @param {number[]} positions of the n rows
 * @param {number[]} bias a phase for each channel, clipped to -2π … 0
 * @param {object} [options]
 * @returns {any[]} [..., n, 2 * head_dim]
 */
export function pope_key(x, positions, bias, { layout = "interleaved", base = 10000 } = {}) {
  const phase = (/** @type {number} */ j, /** @type {number} */ d) => {
    if (bias.length !== d) {
      throw new RangeError(`bias has ${bias.length} phases for ${d} channels`);
    }
    return Math.min(Math.max(bias[j], -2 * Math.PI), 0);
  };
  return polar(x, positions, phase, layout, base);
}

function polar(x, positions, phase, layout, base) {
  choice("layout", layout, ["half", "interleaved"]);
  above("base", base);
  rowOfPositions(positions);
  return withPositions(x, positions, (row, position) => {
    const angles = progression(base, 1 / row.length, row.length).map(
      (w, j) => position * w + phase(j, row.length),
    );
    const cosines = row.map((value, j) => softplus(value) * Math.cos(angles[j]));
    const sines = row.map((value, j) => softplus(value) * Math.sin(angles[j]));
    return layout === "half"
      ? [...cosines, ...sines]
      : cosines.flatMap((cosine, j) => [cosine, sines[j]]);
  });
}

/** ln(1 + e^x), without overflow of e^x. */
function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
