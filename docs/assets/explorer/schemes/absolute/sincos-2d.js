/**
 * Sinusoidal encoding of the cells of a grid.
 * Source: He et al. 2022, "Masked Autoencoders Are Scalable Vision Learners", in its released
 * util/pos_embed.py, and the variants of big_vision and DETR.
 */
import { above, choice, whole } from "../../arguments.js";
import { progression, wave } from "../../waves.js";

/**
 * A row for each cell, row by row of the grid: half of the channels encode its column, the other
 * half its row, each half with dim/4 pairs of sine and cosine.
 * @param {number} height rows of the grid
 * @param {number} width columns of the grid
 * @param {number} dim channels, divisible by 4
 * @param {object} [options]
 * @returns {number[][]} [height * width, dim]
 */
export function sincos_2d(
  height,
  width,
  dim,
  {
    base = 10000,
    first_axis = "column",
    layout = "sin-cos",
    denominator = "d/4",
    coordinates = "index",
  } = {},
) {
  whole("height", height, 1);
  whole("width", width, 1);
  whole("dim", dim, 4);
  above("base", base);
  choice("first_axis", first_axis, ["column", "row"]);
  choice("layout", layout, ["sin-cos", "interleaved"]);
  choice("denominator", denominator, ["d/4", "d/4-1"]);
  choice("coordinates", coordinates, ["index", "normalized", "centred"]);
  if (dim % 4) {
    throw new RangeError(`dim is ${dim}; two axes of sines and cosines need a multiple of 4`);
  }
  const pairs = dim / 4;
  const divisor = denominator === "d/4" ? pairs : pairs - 1;
  if (divisor === 0) {
    throw new RangeError(`dim is ${dim}: the exponent t/(d/4-1) divides by zero for one pair`);
  }
  const frequencies = progression(base, 1 / divisor, pairs);
  const half = (place) =>
    wave(
      frequencies.map((w) => place * w),
      layout,
    );
  const ofRow = places(height, coordinates).map(half);
  const ofColumn = places(width, coordinates).map(half);
  return ofRow.flatMap((row) =>
    ofColumn.map((column) => (first_axis === "column" ? [...column, ...row] : [...row, ...column])),
  );
}

/** Coordinates of an axis, before the frequencies. DETR adds 1e-6 to its divisor. */
function places(count, coordinates) {
  return Array.from({ length: count }, (_, index) =>
    coordinates === "index"
      ? index
      : ((index + (coordinates === "normalized" ? 1 : 0.5)) / (count + 1e-6)) * 2 * Math.PI,
  );
}
