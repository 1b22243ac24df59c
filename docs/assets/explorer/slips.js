/** Known mistakes of slopes and of rows of a sinusoid, which no right call gives. */
import { exceedsChance } from "./chance.js";
import { FLOAT32, allowed } from "./dtypes.js";
import { range } from "./evaluate.js";
import { FAR } from "./identify.js";
import { shown } from "./rules.js";

const BASE = 10_000;
/** Fewer numbers than this fit too many progressions. */
const LEAST_SLOPES = 4;
const LEAST_WAVES = 6;

/**
 * @param {import("./paste.js").Pasted} pasted
 * @param {Record<string, Function>} calls
 * @returns {{what: string, scheme: string, mistake: string}[]}
 */
export function slips({ rows, units, complex, leftOut }, calls) {
  if (complex || leftOut) {
    return [];
  }
  return [...(rows.length === 1 ? slopes(rows[0], units[0], calls) : []), ...sinusoids(rows, units)];
}

function slopes(row, unit, calls) {
  const n = row.length;
  if (n < LEAST_SLOPES) {
    return [];
  }
  const found = wrongSlopes(n, calls).filter(([, wanted]) =>
    row.every((value, h) => Math.abs(value - wanted[h]) <= 1.0001 * unit[h] + 4 * FLOAT32),
  );
  const words = new Set(found.map(([each]) => each));
  return [...words].map((each) => ({
    what: `slopes of ${n} heads, ${each}`,
    scheme: "alibi",
    mistake: "slopes-spread-wrongly",
  }));
}

function wrongSlopes(n, calls) {
  const power = 2 ** Math.floor(Math.log2(n));
  const steps = (/** @type {number} */ m) => range(0, n).map((h) => 2 ** ((-8 * h) / m));
  const between = range(0, n - power).map((h) => 2 ** ((-8 * h) / power));
  const right = ["interpolated", "uniform"].map((head_rule) => calls.alibi_slopes(n, { head_rule }));
  const fromZero = "but counted from 0: the first head has the slope 1";
  const all = [
    [fromZero, steps(n)],
    [fromZero, [...steps(power).slice(0, power), ...between]],
    [`but the steps are those of ${power} heads`, steps(power).map((each) => each * 2 ** (-8 / power))],
    ["but sorted", [...right[0]].sort((a, b) => b - a)],
    ...right.map((each) => ["but with the opposite sign", each.map((slope) => -slope)]),
  ];
  const isRight = (wanted) =>
    right.some((each) => each.every((slope, h) => Math.abs(slope - wanted[h]) < FLOAT32));
  return all.filter(([, wanted]) => !isRight(wanted));
}

/** The exponent of a channel, of pair t and of d channels. */
const EXPONENTS = {
  "odd-channel-exponent": { of: (c, t, d) => c / d, shown: "c/d in channel c" },
  "channel-for-pair": { of: (c, t, d) => (2 * c) / d, shown: "2c/d in channel c" },
  "exponent-halved": { of: (c, t, d) => t / d, shown: "t/d instead of 2t/d" },
  "exponent-doubled": { of: (c, t, d) => (4 * t) / d, shown: "4t/d instead of 2t/d" },
};
const LAYOUTS = {
  interleaved: (c) => [c >> 1, c % 2],
  "sines before cosines": (c, d) => [c % (d / 2), Math.floor((2 * c) / d)],
};

function sinusoids(rows, units) {
  const d = rows[0].length;
  const flat = rows.flat();
  if (d % 2 || flat.length < LEAST_WAVES || flat.some((value) => Math.abs(value) > 1)) {
    return [];
  }
  // The first channel is the sine of the position, whatever the exponents are.
  const first = rows.length > 1 ? 0 : 1; // at 0 a single row shows no frequency
  const places = range(first, FAR).filter(
    (place) => Math.abs(Math.sin(place) - rows[0][0]) <= allowed(units[0][0], 1, place),
  );
  return Object.entries(EXPONENTS).flatMap(([mistake, { of, shown: exponents }]) =>
    Object.entries(LAYOUTS).flatMap(([layout, arranged]) => {
      const columns = range(0, d).map((c) => {
        const [t, isCosine] = arranged(c, d);
        return { frequency: BASE ** -of(c, t, d), wave: isCosine ? Math.cos : Math.sin };
      });
      const sines = sinesOf(rows[0], units[0], columns);
      const place = places.find((each) => exceedsChance(sines, each) && fits(rows, units, columns, each));
      const at = rows.length > 1 ? `positions ${place} to ${place + rows.length - 1}` : `position ${place}`;
      const what = `${layout}, ${at}, base ${shown(BASE)}, but with exponents ${exponents}`;
      return place === undefined ? [] : [{ what, scheme: "sinusoidal", mistake }];
    }),
  );
}

const sinesOf = (row, units, columns) =>
  range(0, row.length)
    .filter((c) => columns[c].wave === Math.sin)
    .map((c) => ({ value: row[c], unit: units[c], frequency: columns[c].frequency }));

const fits = (rows, units, columns, place) =>
  rows.every((row, i) =>
    row.every((value, c) => {
      const angle = (place + i) * columns[c].frequency;
      return Math.abs(columns[c].wave(angle) - value) <= allowed(units[i][c], 1, angle);
    }),
  );
