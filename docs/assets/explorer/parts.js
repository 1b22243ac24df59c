/**
 * Rows of cosines and sines of which some channels are known: the first ones, or those that a print
 * shows before and after its ellipsis.
 */
import { DIMS, usual, words } from "./beginnings.js";
import { exceedsChance } from "./chance.js";
import { EXACT, LIKELY_DTYPES, allowed, isOf, rounding } from "./dtypes.js";
import { range } from "./evaluate.js";
import { shown } from "./rules.js";
import { rotaryFrequencies } from "./waves.js";

const LEAST = 3;
/** Number of lists to name. */
const MOST = 5;
/** Positions to try; beyond them float32 blurs a row, of which so few numbers say nothing. */
const POSITIONS = 16_384;
/** Positions to try for rows after an ellipsis, at the end of a long table. */
const LAST = 2 ** 18;
const NEAR = 4096;
/** Bits beyond chance with which both ends of a list name it. */
const SPARE = 20;

const COS = "cosines";
const SIN = "sines";
const OF = { [COS]: Math.cos, [SIN]: Math.sin };

/** The pair and the wave of a column of `width`, by the arrangement of a row of 2N or N channels. */
const ARRANGED = {
  [COS]: { width: (N) => N, at: (c) => [c, COS] },
  [SIN]: { width: (N) => N, at: (c) => [c, SIN] },
  "cosines, each twice": { width: (N) => 2 * N, at: (c) => [c >> 1, COS], twice: true },
  "sines, each twice": { width: (N) => 2 * N, at: (c) => [c >> 1, SIN], twice: true },
  "cosines and sines, side by side": {
    width: (N) => 2 * N,
    at: (c, N) => [c % N, c < N ? COS : SIN],
    whole: true,
  },
  "cosines and sines by turns": { width: (N) => 2 * N, at: (c) => [c >> 1, c % 2 ? SIN : COS] },
};
const ADDITIVE = {
  "": { width: (N) => 2 * N, at: (c) => [c >> 1, c % 2 ? COS : SIN] },
  ", sines before cosines": {
    width: (N) => 2 * N,
    at: (c, N) => [c % N, c < N ? SIN : COS],
    whole: true,
  },
};

/**
 * Rows of rotary tables and sinusoids that have these numbers among others, those of most models
 * first.
 * @param {import("./paste.js").Pasted} pasted
 * @param {any[]} models entries of models.json
 * @returns {{found: {what: string, scheme: string, models: string[]}[], more: number}}
 */
export function partsOfTables({ rows, units, after, complex, leftOut }, models) {
  const flat = rows.flat();
  const known = rows[0].length >= LEAST && flat.every((value) => Math.abs(value) <= 2);
  if (!known || new Set(rows.at(-1)).size < 3) {
    return { found: [], more: 0 };
  }
  for (const dtype of LIKELY_DTYPES.filter((each) => isOf(each, flat, units.flat()))) {
    const search = { rows, units, after, dtype, leftOut, seen: new Map() };
    const found = [
      ...fitting(search, rotary(models), complex ? { [TURNS]: ARRANGED[TURNS] } : ARRANGED, asRotary),
      ...fitting(search, complex ? [] : additive(), ADDITIVE, asSinusoid),
    ].sort((a, b) => Number(a.far) - Number(b.far) || b.models.length - a.models.length);
    if (found.length) {
      return { found: found.slice(0, MOST), more: Math.max(found.length - MOST, 0) };
    }
  }
  return { found: [], more: 0 };
}

const TURNS = "cosines and sines by turns";

const rotary = (models) => usual(models).map((each) => ({ amplitude: 1, ...each }));

const additive = () =>
  DIMS.map((dim) => ({
    base: 10_000,
    scheme: "sinusoidal",
    amplitude: 1,
    frequencies: rotaryFrequencies(dim, 10_000),
    models: [],
  }));

function* fitting(search, sources, arrangements, told) {
  const { rows, leftOut } = search;
  const isTwice = rows.every((row) => row.every((value, c) => c % 2 === 0 || value === row[c - 1]));
  for (const source of sources) {
    const N = source.frequencies.length;
    for (const [name, { width, at, whole, twice }] of Object.entries(arrangements)) {
      const count = width(N);
      if ((leftOut || !whole) && (!twice || leftOut || isTwice) && count > rows[0].length) {
        const columns = kept(count, rows[0].length, leftOut).map((c) => at(c, N));
        const place = placeOf(search, source, columns);
        if (place) {
          yield told({ ...search, source, name, count, ...place });
        }
      }
    }
  }
}

/** The numbers of the columns that are printed. */
const kept = (count, printed, leftOut) =>
  range(0, printed).map((c) => (leftOut && c >= leftOut ? count - printed + c : c));

/** The first position that fits better than chance, how many more do, and where the rows after an ellipsis are. */
function placeOf(search, source, columns) {
  const { rows, after, leftOut } = search;
  const said = saidOf(search, source, columns);
  const all = places({ ...search, far: POSITIONS }, source, columns).filter((place) => exceedsChance(said, place));
  if (!all.length) {
    return null;
  }
  const sure = leftOut > 0 && exceedsChance(said, all[0], SPARE);
  if (!after) {
    return { place: all[0], others: all.length - 1, last: null, sure };
  }
  const from = all[0] + rows.length;
  const [last] = places({ ...search, ...after, far: LAST }, source, columns).filter((each) => each >= from);
  return last === undefined ? null : { place: all[0], others: all.length - 1, last, sure };
}

function places({ rows, units, dtype, seen, far }, { frequencies, amplitude }, columns) {
  const middle = rows.length - 1;
  const fits = (/** @type {number} */ place, /** @type {number} */ i, /** @type {number} */ c) => {
    const [pair, wave] = columns[c];
    const angle = place * frequencies[pair];
    const apart = Math.abs(amplitude * OF[wave](angle) - rows[i][c]);
    return apart <= allowed(units[i][c], amplitude, angle) + rounding(dtype, rows[i][c]);
  };
  const [pair, wave] = columns[0];
  const name = [wave, frequencies[pair], amplitude, rows[middle][0], units[middle][0], far].join();
  if (!seen.has(name)) {
    const [value, unit] = [rows[middle][0], units[middle][0]];
    seen.set(name, scanned(far, OF[wave], frequencies[pair], amplitude, value, unit + rounding(dtype, value)));
  }
  return seen
    .get(name)
    .map((/** @type {number} */ place) => place - middle)
    .filter((/** @type {number} */ place) =>
      place >= 0 && rows.every((row, i) => row.every((_, c) => fits(place + i, i, c))),
    );
}

/** The positions up to `far` at which one number fits. */
function scanned(far, of, frequency, amplitude, value, unit) {
  const found = [];
  for (let place = 1; place < far; place++) {
    const angle = place * frequency;
    if (Math.abs(amplitude * of(angle) - value) <= allowed(unit, amplitude, angle)) {
      found.push(place);
    }
  }
  return found;
}

/** What the numbers of each pair are, and how far off they may be. */
function saidOf({ rows, units, dtype }, { frequencies, amplitude }, columns) {
  const pairs = [...new Map(columns.map(([pair], c) => [pair, c]))];
  return rows.flatMap((row, i) =>
    pairs.map(([pair, c]) => ({
      value: row[c] / amplitude,
      unit: (units[i][c] + rounding(dtype, row[c])) / amplitude,
      frequency: frequencies[pair],
    })),
  );
}

function where({ rows, after, place, last, others, dtype }) {
  const of = (first, count) => (count > 1 ? `${first} to ${first + count - 1}` : `${first}`);
  const count = rows.length;
  const ends = last === null ? "" : ` and ${of(last, after.rows.length)}`;
  const more = others ? ` (or at ${others} other${others > 1 ? "s" : ""})` : "";
  const rounded = dtype === EXACT ? "" : `, rounded to ${dtype}`;
  return `${count > 1 || ends ? "positions" : "position"} ${of(place, count)}${ends}${more}${rounded}`;
}

function asRotary(found) {
  const { source, name, count, leftOut, rows, place } = found;
  const longer =
    source.amplitude === 1 ? "" : `, made longer by ${source.amplitude.toPrecision(5)}`;
  return {
    what:
      `${words(rows[0].length, leftOut)} of ${count} ${name} at ${where(found)}; ` +
      `${2 * source.frequencies.length} rotated channels, base ${shown(source.base)}${source.words ?? ""}${longer}`,
    scheme: source.scheme,
    models: source.models,
    far: place >= NEAR,
    sure: found.sure,
  };
}

function asSinusoid(found) {
  const { name, count, leftOut, rows, place } = found;
  return {
    what: `${words(rows[0].length, leftOut)} of ${count} channels${name} at ${where(found)}, base 10,000`,
    scheme: "sinusoidal",
    models: [],
    far: place >= NEAR,
    sure: found.sure,
  };
}
