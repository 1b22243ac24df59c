/**
 * The strided pattern of the Sparse Transformer.
 * Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", section 4.3.
 */
import { choice, whole } from "../../arguments.js";
import { mask } from "../../masks.js";

/**
 * Which keys each query may attend to: the last ones, and every stride-th one before it.
 * @param {number} q_len
 * @param {number} k_len
 * @param {number} stride the paper's l
 * @param {object} [options] part: the part of the pattern that a head attends to
 * @returns {boolean[][]} [q_len, k_len]
 */
export function strided_mask(q_len, k_len, stride, { part = "union" } = {}) {
  choice("part", part, ["union", "local", "local-inclusive", "column"]);
  whole("stride", stride, 1);
  const longest = part === "local-inclusive" ? stride : stride - 1;
  return mask(q_len, k_len, (query, key) => {
    const back = query - key;
    const local = part !== "column" && back <= longest;
    const column = (part === "union" || part === "column") && back % stride === 0;
    return back >= 0 && (local || column);
  });
}
