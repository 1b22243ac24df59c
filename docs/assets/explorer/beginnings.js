/** Identification of parts of longer lists of frequencies, as in `posenc identify`. */
import { shown } from "./rules.js";
import { rotaryFrequencies } from "./waves.js";

/** Bases of released models, numbers of pairs, and widths of sinusoids; the usual ones first. */
export const USUAL = [10_000, 500_000, 1_000_000, 150_000, 5_000_000, 10_000_000];
const PAIRS = [64, 32, 128, 48, 40];
export const DIMS = [512, 768, 1024, 256, 128, 64];
const LEAST = 3;
const MOST = 5;
const FLOAT32 = 2 ** -24;

export const DOUBT =
  ". No released model here has this base: perhaps they are a part of a longer list";

/**
 * Longer lists of which a row may be a part, those of most models first.
 * @param {number[]} row
 * @param {number[]} unit the last printed place of each
 * @param {number} leftOut count of numbers before the ellipsis; 0 without an ellipsis
 * @param {any[]} models entries of models.json
 * @param {number} loss what rounding may change, relatively
 * @returns {{what: string, scheme: string, models: string[]}[]}
 */
export function partsOfFrequencies(row, unit, leftOut, models, loss = 16 * FLOAT32) {
  if (row.length < LEAST) {
    return [];
  }
  const found = [];
  for (const { frequencies, base, scheme, models: names } of usual(models)) {
    const pairs = frequencies.length;
    if (pairs > row.length && fits(row, unit, part(frequencies, row.length, leftOut), loss)) {
      const what = `${words(row.length, leftOut)} of ${pairs} frequencies, ${2 * pairs} rotated channels, base ${shown(base)}`;
      found.push({ what, scheme, models: names });
    }
  }
  return found.sort((a, b) => b.models.length - a.models.length).slice(0, MOST);
}

/** Factors of linear interpolation to try. */
export const FACTORS = [2, 4, 8, 16, 32];

/** Longer plain lists of which all numbers may be divided by one factor. */
export function partsOfDivided(row, unit, models) {
  for (const factor of row[0] < 1 ? FACTORS : []) {
    const grown = [row, unit].map((some) => some.map((value) => value * factor));
    const plain = partsOfFrequencies(grown[0], grown[1], 0, models.filter(({ scheme }) => scheme === "rope"));
    if (Math.abs(grown[0][0] - 1) <= 1.0001 * grown[1][0] && plain.length) {
      return plain.map(({ what }) => ({ what: `${what}, all divided by ${factor}`, scheme: "position-interpolation", models: [] }));
    }
  }
  return [];
}

/** Frequencies of released models, and plain ones of other usual widths and bases. */
export function usual(models) {
  const has = (base, pairs) =>
    models.some((each) => each.scheme === "rope" && each.base === base && each.frequencies.length === pairs);
  const plain = PAIRS.flatMap((pairs) =>
    USUAL.filter((base) => !has(base, pairs)).map((base) => ({
      scheme: "rope",
      base,
      frequencies: rotaryFrequencies(2 * pairs, base),
      models: [],
    })),
  );
  return [...models, ...plain];
}

function part(whole, count, leftOut) {
  const head = leftOut || count;
  return [...whole.slice(0, head), ...whole.slice(whole.length - (count - head))];
}

export const words = (count, leftOut) =>
  leftOut ? `the first ${leftOut} and the last ${count - leftOut}` : `the first ${count}`;

const fits = (row, unit, wanted, loss) =>
  row.every((value, t) => Math.abs(value - wanted[t]) <= 1.0001 * unit[t] + loss * wanted[t]);
