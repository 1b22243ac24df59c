/** Geometric progressions of frequencies, and rows of sines and cosines, for many schemes. */

/**
 * `count` frequencies that fall from 1: base^(-t * step) for pair t = 0, 1, …
 * @param {number} base
 * @param {number} step
 * @param {number} count
 * @returns {number[]} radians per position
 */
export function progression(base, step, count) {
  return Array.from({ length: count }, (_, t) => base ** (-t * step));
}

/** Channels (first, second) of pair t of r rotated ones. */
export const PAIR = {
  interleaved: (/** @type {number} */ t) => [2 * t, 2 * t + 1],
  half: (/** @type {number} */ t, /** @type {number} */ r) => [t, t + r / 2],
};

/** Scales of the sinusoid, for d channels. */
export const SCALES = {
  1: () => 1,
  "d^-1/2": (/** @type {number} */ d) => 1 / Math.sqrt(d),
  "(2/d)^1/2": (/** @type {number} */ d) => Math.sqrt(2 / d),
};

/**
 * Sines and cosines of some angles in one row.
 * @param {number[]} angles one for each pair
 * @param {"interleaved" | "sin-cos" | "cos-sin"} layout
 * @returns {number[]} twice as many numbers
 */
export function wave(angles, layout) {
  const sines = angles.map(Math.sin);
  const cosines = angles.map(Math.cos);
  if (layout === "interleaved") {
    return angles.flatMap((_, t) => [sines[t], cosines[t]]);
  }
  return layout === "sin-cos" ? [...sines, ...cosines] : [...cosines, ...sines];
}

/**
 * The unscaled frequencies of rotary embedding: base^(-2t / rotary_dim).
 * @param {number} rotary_dim
 * @param {number} base
 * @returns {number[]} one for each pair of channels
 */
export function rotaryFrequencies(rotary_dim, base) {
  return progression(base, 2 / rotary_dim, rotary_dim / 2);
}

/**
 * Rotary frequencies of the base multiplied by stretch^(d / (d-2)).
 * @param {number} rotary_dim
 * @param {number} base
 * @param {number} stretch
 */
export function stretched(rotary_dim, base, stretch) {
  const larger = base * stretch ** (rotary_dim / (rotary_dim - 2));
  return progression(larger, 2 / rotary_dim, rotary_dim / 2);
}

/**
 * Full turns of each pair over a number of positions.
 * @param {number[]} frequencies
 * @param {number} positions
 */
export function turns(frequencies, positions) {
  return frequencies.map((w) => (w * positions) / (2 * Math.PI));
}

/** @param {number} value to clip to 0 … 1 */
export function clipped(value) {
  return Math.min(Math.max(value, 0), 1);
}
