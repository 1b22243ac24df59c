/** Whole numbers that are positions or distances, and so no encoding. */
import { range } from "./evaluate.js";

/**
 * @param {import("./paste.js").Pasted} pasted
 * @returns {{what: string, scheme: string}[]}
 */
export function plainIntegers({ rows, leftOut, after }) {
  if (leftOut || after || !rows.flat().every(Number.isInteger)) {
    return [];
  }
  return rows.length === 1 ? counted(rows[0]) : distances(rows);
}

const signed = (/** @type {number} */ value) => (value < 0 ? `−${-value}` : `${value}`);

function counted(row) {
  const step = row[1] - row[0];
  const even = row.length > 2 && row.every((value, i) => !i || value - row[i - 1] === step);
  return even && Math.abs(step) === 1
    ? [{ what: `whole numbers from ${signed(row[0])} to ${signed(row.at(-1))}: positions or distances, before any encoding`, scheme: "" }]
    : [];
}

/** A table whose entry depends on the distance of key and query alone, and grows by one with it. */
function distances(rows) {
  const [q_len, k_len] = [rows.length, rows[0].length];
  const byDistance = new Map();
  for (const [i, row] of rows.entries()) {
    for (const [j, value] of row.entries()) {
      if ((byDistance.get(j - i) ?? value) !== value) {
        return [];
      }
      byDistance.set(j - i, value);
    }
  }
  const all = range(1 - q_len, k_len).map((distance) => byDistance.get(distance));
  for (const [words, line] of [["of the key less that of the query", all], ["of the query less that of the key", [...all].reverse()]]) {
    const found = clipped(line);
    if (found) {
      return [{ what: `distances: the position ${words}${found}`, scheme: "shaw" }];
    }
  }
  return [];
}

/** Words if a line rises by one, but may be flat at its ends; null if it does not. */
function clipped(line) {
  const steps = line.slice(1).map((value, i) => value - line[i]);
  const [first, last] = [steps.indexOf(1), steps.lastIndexOf(1)];
  const rises = steps.every((step, i) => step === Number(i >= first && i <= last));
  if (first < 0 || last - first < 1 || !rises) {
    return null;
  }
  const flat = first || last < steps.length - 1;
  return flat ? `, clipped to ${signed(line[0])} … ${signed(line.at(-1))}` : `, from ${signed(line[0])} to ${signed(line.at(-1))}`;
}
