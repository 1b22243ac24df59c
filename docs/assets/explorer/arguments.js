/** Validation of arguments, with messages that name the argument and its valid values. */

/** Largest position up to which a float64 tells integers apart. */
export const LARGEST_POSITION = 2 ** 53;

/**
 * Refuse a value that is not one of `allowed`.
 * @param {string} name
 * @param {unknown} value
 * @param {readonly unknown[]} allowed
 */
export function choice(name, value, allowed) {
  if (!allowed.includes(value)) {
    throw new RangeError(`${name} is ${value}; it must be one of ${allowed.join(", ")}`);
  }
}

/**
 * Refuse a value that is not an integer of at least `least`.
 * @param {string} name
 * @param {unknown} value
 * @param {number} [least]
 */
export function whole(name, value, least = -LARGEST_POSITION) {
  if (!Number.isInteger(value)) {
    throw new TypeError(`${name} is ${value}; it must be a whole number`);
  }
  if (/** @type {number} */ (value) < least) {
    throw new RangeError(`${name} is ${value}; it must be at least ${least}`);
  }
}

/**
 * Refuse a value that is not an even integer of at least `least`.
 * @param {string} name
 * @param {unknown} value
 * @param {number} [least]
 */
export function even(name, value, least = 2) {
  whole(name, value, least);
  if (/** @type {number} */ (value) % 2) {
    throw new RangeError(`${name} is ${value}; it must be even, to make pairs`);
  }
}

/**
 * Refuse a value that is not a finite number above `bound`.
 * @param {string} name
 * @param {unknown} value
 * @param {number} [bound]
 */
export function above(name, value, bound = 0) {
  if (!Number.isFinite(value) || /** @type {number} */ (value) <= bound) {
    throw new RangeError(`${name} is ${value}; it must be a finite number above ${bound}`);
  }
}

/**
 * Refuse a value that is not a finite number of at least `bound`.
 * @param {string} name
 * @param {unknown} value
 * @param {number} bound
 */
export function atLeast(name, value, bound) {
  if (!Number.isFinite(value) || /** @type {number} */ (value) < bound) {
    throw new RangeError(`${name} is ${value}; it must be a finite number of at least ${bound}`);
  }
}

/**
 * Refuse positions that are not a list of numbers, or, unless `real`, of integers.
 * @param {unknown} positions
 * @param {{real?: boolean}} [rules]
 */
export function rowOfPositions(positions, { real = false } = {}) {
  if (!Array.isArray(positions)) {
    throw new TypeError("positions must be a list of numbers");
  }
  for (const position of positions) {
    const fits = real ? Number.isFinite(position) : Number.isInteger(position);
    if (!fits || Math.abs(position) > LARGEST_POSITION) {
      const kind = real ? "numbers" : "whole numbers";
      throw new RangeError(`positions hold ${position}; they must be ${kind}, at most 2^53`);
    }
  }
}

/**
 * Refuse more queries than keys: the queries are at the positions of the last keys.
 * @param {unknown} q_len
 * @param {unknown} k_len
 */
export function lengths(q_len, k_len) {
  whole("q_len", q_len, 0);
  whole("k_len", k_len, 0);
  if (/** @type {number} */ (q_len) > /** @type {number} */ (k_len)) {
    throw new RangeError(`q_len is ${q_len} and k_len ${k_len}; queries are the last of the keys`);
  }
}
