/**
 * The fixed pattern of the Sparse Transformer.
 * Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.3.
 */
import { choice, whole } from "../../arguments.js";
import { mask } from "../../masks.js";

/**
 * Which keys each query may attend to: those of its own block, and the last ones of every block.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} block_size the paper's l
 * @param {number} summary the paper's c: keys at the end of each block that all later queries see
 * @param {object} [options] part: the part of the pattern that a head attends to
 * @returns {boolean[][]} [q_len, k_len]
 */
export function fixed_mask(q_len, k_len, block_size, summary, { part = "union" } = {}) {
  choice("part", part, ["union", "block", "columns"]);
  whole("block_size", block_size, 1);
  whole("summary", summary, 1);
  if (summary > block_size) {
    throw new RangeError(`summary is ${summary}; a block has only ${block_size} keys`);
  }
  const block = (/** @type {number} */ place) => Math.floor(place / block_size);
  return mask(q_len, k_len, (query, key) => {
    const own = part !== "columns" && block(key) === block(query);
    const column = part !== "block" && key % block_size >= block_size - summary;
    return key <= query && (own || column);
  });
}
