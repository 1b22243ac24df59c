/**
 * Relative position table of two axes.
 * Source: Liu et al. 2021, "Swin Transformer"; Bao et al. 2021, "BEiT", for the class token.
 */
import { choice, whole } from "../../arguments.js";

/**
 * The row of the bias table for each query and key: one row for each offset down and each offset to
 * the right, and three more with a class token, which has no position.
 * @param {number} height patches from top to bottom
 * @param {number} width patches from left to right
 * @param {object} [options]
 * @returns {number[][]} [tokens, tokens]
 */
export function relative_table_2d_rows(height, width, { class_token = "none" } = {}) {
  whole("height", height, 1);
  whole("width", width, 1);
  choice("class_token", class_token, ["none", "first"]);
  const patches = Array.from({ length: height * width }, (_, patch) => [
    Math.floor(patch / width),
    patch % width,
  ]);
  const rows = patches.map(([y, x]) =>
    patches.map(([v, u]) => (y - v + height - 1) * (2 * width - 1) + x - u + width - 1),
  );
  if (class_token === "none") {
    return rows;
  }
  const behind = (2 * height - 1) * (2 * width - 1);
  const ofClass = [behind + 2, ...patches.map(() => behind)];
  return [ofClass, ...rows.map((row) => [behind + 1, ...row])];
}
