/**
 * Timestep embeddings of diffusion models.
 * Source: Ho, Jain and Abbeel 2020, "Denoising Diffusion Probabilistic Models"; Dhariwal and Nichol
 * 2021, "Diffusion Models Beat GANs on Image Synthesis"; and the code released with them.
 */
import { above, choice, rowOfPositions, whole } from "../../arguments.js";
import { progression, wave } from "../../waves.js";

/**
 * A row for each timestep. With h = floor(dim / 2), pair t has the angle
 * scale * p * max_period^(-t / (h - frequency_shift)).
 * @param {number[]} positions timesteps, whole or real
 * @param {number} dim channels; if odd, the last column is 0
 * @param {object} [options]
 * @returns {number[][]} [n, dim]
 */
export function timestep(
  positions,
  dim,
  { order = "sin-cos", frequency_shift = 1, max_period = 10000, scale = 1 } = {},
) {
  rowOfPositions(positions, { real: true });
  whole("dim", dim, 2);
  choice("order", order, ["sin-cos", "cos-sin"]);
  choice("frequency_shift", frequency_shift, [0, 1]);
  above("max_period", max_period);
  above("scale", scale);
  const half = Math.floor(dim / 2);
  if (half === frequency_shift) {
    throw new RangeError(`dim is ${dim}: the exponent t/(h - 1) divides by zero for one pair`);
  }
  const frequencies = progression(max_period, 1 / (half - frequency_shift), half);
  return positions.map((position) => {
    const row = wave(
      frequencies.map((w) => scale * position * w),
      order,
    );
    return dim % 2 ? [...row, 0] : row;
  });
}
