/**
 * Chunked attention.
 * Source: meta-llama/llama-models, create_chunked_attention_mask.
 */
import { whole } from "../../arguments.js";
import { mask } from "../../masks.js";

/**
 * Which keys each query may attend to: those of its own chunk, up to itself.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} chunk_size keys in a chunk, counted from position 0
 * @returns {boolean[][]} [q_len, k_len]
 */
export function chunked_mask(q_len, k_len, chunk_size) {
  whole("chunk_size", chunk_size, 1);
  const chunk = (/** @type {number} */ place) => Math.floor(place / chunk_size);
  return mask(q_len, k_len, (query, key) => key <= query && chunk(key) === chunk(query));
}
