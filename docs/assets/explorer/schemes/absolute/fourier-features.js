/**
 * Fourier features of coordinates.
 * Source: Mildenhall et al. 2020, "NeRF", equation 4, and its released code.
 */
import { choice, whole } from "../../arguments.js";

const FACTORS = { 1: 1, pi: Math.PI, "two-pi": 2 * Math.PI };
/** Largest number of frequencies: beyond it an angle has no fractional digits left. */
const MOST_FREQUENCIES = 53;

/**
 * Sines and cosines of each coordinate at frequencies that double: 2^k times the factor, k from 0.
 * @param {any[]} x nested lists of shape [..., coords]
 * @param {number} num_frequencies
 * @param {object} [options] order: order of the features
 * @returns {any[]} [..., 2 * num_frequencies * coords], plus coords if the input is included
 */
export function nerf(
  x,
  num_frequencies,
  { factor = "pi", order = "by-coordinate", include_input = "none" } = {},
) {
  whole("num_frequencies", num_frequencies, 1);
  choice("factor", factor, Object.keys(FACTORS));
  choice("order", order, Object.keys(ORDERS));
  choice("include_input", include_input, ["first", "none"]);
  if (num_frequencies > MOST_FREQUENCIES) {
    throw new RangeError(`num_frequencies is ${num_frequencies}; at most ${MOST_FREQUENCIES}`);
  }
  if (Array.isArray(x[0])) {
    return x.map((part) => nerf(part, num_frequencies, { factor, order, include_input }));
  }
  if (!x.every(Number.isFinite)) {
    throw new RangeError("x must be finite");
  }
  const exponents = Array.from({ length: num_frequencies }, (_, k) => k);
  const wave = (of, coordinate, k) => of(2 ** k * FACTORS[factor] * coordinate);
  const features = ORDERS[order](x, exponents, wave);
  return include_input === "first" ? [...x, ...features] : features;
}

const WAVES = [Math.sin, Math.cos];

/** Orders of the features of a point. */
const ORDERS = {
  "by-frequency": (x, exponents, wave) =>
    exponents.flatMap((k) => WAVES.flatMap((of) => x.map((each) => wave(of, each, k)))),
  "by-coordinate": (x, exponents, wave) =>
    x.flatMap((each) => exponents.flatMap((k) => WAVES.map((of) => wave(of, each, k)))),
  "sines-by-frequency": (x, exponents, wave) =>
    WAVES.flatMap((of) => exponents.flatMap((k) => x.map((each) => wave(of, each, k)))),
  "sines-by-coordinate": (x, exponents, wave) =>
    WAVES.flatMap((of) => x.flatMap((each) => exponents.map((k) => wave(of, each, k)))),
};
