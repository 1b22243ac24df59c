/** Rows of sines and cosines that were multiplied by one number, as embeddings are. */

/** Of pairs, whose squares sum to 1, this share of the length may be lost by printing. */
const APART = 1e-3;

/**
 * Pasted numbers, divided by what the lengths of all their rows say.
 * @param {import("./paste.js").Pasted} pasted
 * @returns {{words: string, pasted: import("./paste.js").Pasted} | null} null if nothing says so
 */
export function divided(pasted) {
  const width = pasted.rows[0].length;
  const length = (/** @type {number[]} */ row) => Math.hypot(...row) / Math.sqrt(width / 2);
  const known = [
    [2, "2"],
    [0.5, "one half"],
    [Math.sqrt(width), `√${width}`],
    [1 / Math.sqrt(width), `1/√${width}`],
  ];
  const found = known.find(([by]) => pasted.rows.every((row) => Math.abs(length(row) / Number(by) - 1) < APART));
  if (width % 2 || !found) {
    return null;
  }
  const [by, words] = found;
  const each = (/** @type {number[][]} */ all) => all.map((row) => row.map((value) => value / Number(by)));
  return { words: `${words}`, pasted: { ...pasted, rows: each(pasted.rows), units: each(pasted.units) } };
}
