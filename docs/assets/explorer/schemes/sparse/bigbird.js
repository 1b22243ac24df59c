/**
 * BigBird's pattern without its random blocks.
 * Source: Zaheer et al. 2020, "Big Bird: Transformers for Longer Sequences", section 2 and
 * appendix D.
 */
import { whole } from "../../arguments.js";
import { mask } from "../../masks.js";

/**
 * Which keys each query may attend to: three blocks around it, and the first and last block, whose
 * queries attend to everything.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} block_size tokens in a block; the last one may be shorter
 * @returns {boolean[][]} [q_len, k_len]
 */
export function bigbird_mask(q_len, k_len, block_size) {
  whole("block_size", block_size, 1);
  const block = (/** @type {number} */ place) => Math.floor(place / block_size);
  const last = block(k_len - 1);
  const global = (/** @type {number} */ place) => block(place) === 0 || block(place) === last;
  return mask(
    q_len,
    k_len,
    (query, key) => global(query) || global(key) || Math.abs(block(query) - block(key)) <= 1,
  );
}
