/** Rounding: of computation in float32, of printing, and of narrower dtypes. */

export const FLOAT32 = 2 ** -23;
export const EXACT = "";
/** Dtypes with their significant bits. */
export const ROUNDED = { float16: 11, bfloat16: 8 };
/** In the order in which to try them: the widest first. */
export const LIKELY_DTYPES = [EXACT, ...Object.keys(ROUNDED)];

/** A printed unit plus the float32 error of an angle. */
export const allowed = (unit, scale, angle) =>
  1.0001 * unit + scale * FLOAT32 * (4 + 8 * Math.abs(angle));

/** The largest error of rounding a number to a dtype. */
export const rounding = (dtype, value) => (dtype && value ? step(dtype, value) / 2 : 0);

/** Whether numbers, as printed, may be those of a dtype. Always true without one. */
export const isOf = (dtype, values, units) =>
  dtype === EXACT ||
  values.every((value, i) => {
    const size = value ? step(dtype, value) : 1;
    return Math.abs(Math.round(value / size) * size - value) <= 1.0001 * units[i];
  });

const step = (dtype, value) => 2 ** (Math.floor(Math.log2(Math.abs(value))) + 1 - ROUNDED[dtype]);
