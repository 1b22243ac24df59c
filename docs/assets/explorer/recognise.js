/**
 * Recognition of saved data of rotary embeddings: frequencies, and tables of cosines and sines in
 * the formats of libraries, with the released models that use them.
 */
import { DOUBT, FACTORS, USUAL, partsOfDivided, partsOfFrequencies } from "./beginnings.js";
import { exceedsChance } from "./chance.js";
import { EXACT, FLOAT32, LIKELY_DTYPES, ROUNDED, allowed, isOf, rounding } from "./dtypes.js";
import { FAR, FEW } from "./identify.js";
import { estimated, shown, solved, stretchedFrom } from "./rules.js";
import { rotaryFrequencies } from "./waves.js";

/** Number of positions at which to look for a single row of a table. */
const POSITIONS = 131_072;
/** Bases to try if the numbers don't determine the base. */
const BASES = USUAL;
const DEGREES = "angles taken for degrees";
/** With fewer pairs than this, a list of any base may be another falling progression. */
const CERTAIN = 16;

/** Known mistakes of a progression of N frequencies. */
const MISTAKES = {
  "exponent-halved": (base, N) => progression(N, (t) => base ** (-t / (2 * N))),
  "exponent-to-the-end": (base, N) => progression(N, (t) => base ** (-t / (N - 1))),
  degrees: (base, N) => rotaryFrequencies(2 * N, base).map((w) => (w * Math.PI) / 180),
};

const progression = (N, of) => Array.from({ length: N }, (_, t) => of(t));

/**
 * @typedef {{what: string, scheme: string, mistake: string, models: string[], table: boolean,
 *   likely: boolean, sure: boolean, base: number | null}} Told
 *   table is whether an additive encoding may have the same numbers; likely is false if the
 *   parameters are estimated from the numbers, so that any named call is likelier; sure is whether
 *   the numbers are enough to rule out others; base is one that the numbers alone determine
 */

/** What an explanation says unless it says otherwise. */
export const NOTHING_MORE = {
  scheme: "rope",
  mistake: "",
  models: [],
  table: false,
  likely: true,
  sure: true,
  base: null,
};

/**
 * @param {import("./paste.js").Pasted} pasted
 * @param {any[]} models entries of models.json
 * @returns {Told[]} the likeliest first; empty if the numbers are of another kind
 */
export function recognise({ rows, units, complex, leftOut }, models) {
  if (leftOut) {
    const alone = rows.length === 1 && !complex && falling(rows[0]);
    return !alone ? [] : partsOfFrequencies(rows[0], units[0], leftOut, models).map((each) => told(each.what, { ...each, sure: false }));
  }
  const flat = rows.length === 1 ? null : column(rows);
  if (!complex && (rows.length === 1 || flat)) {
    const row = flat ?? rows[0];
    const unit = flat ? units.map(([each]) => each) : units[0];
    for (const [words, part] of onceEach(row)) {
      const some = part(row);
      const found = some.length > 1 && falling(some) ? frequencies(some, part(unit), models) : [];
      if (found.length) {
        return found.map((each) => ({ ...each, what: each.what + words }));
      }
    }
    return flat ? [] : table([row], [unit], false, models);
  }
  return table(rows, units, complex, models);
}

const column = (rows) => (rows.every((row) => row.length === 1) ? rows.map(([x]) => x) : null);

/** Whether numbers can be frequencies: falling from at most 1, the last ones perhaps 0. */
function falling(row) {
  return (
    row[0] > 0 && row[0] <= 1.001 && row.every((value, t) => value >= 0 && !(value > row[t - 1]))
  );
}

/**
 * Explanations of frequencies, the most plausible first: a model or a usual base, a known mistake,
 * rounded frequencies, and finally any base.
 */
function frequencies(row, unit, models) {
  const usual = BASES.map((base) => [base, rotaryFrequencies(2 * row.length, base)]);
  const tries = [
    () => modelled(row, unit, models, ""),
    () => plain(row, unit, usual, ""),
    () => parts(row, unit, models),
    () => mistaken(row, unit),
    () => modelled(row, unit, models, "float16"),
    () => plain(row, unit, usual, "float16"),
    () => modelled(row, unit, models, "bfloat16"),
    () => plain(row, unit, usual, "bfloat16"),
    () => roundedParts(row, unit, models),
    () => plain(row, unit, guesses(row), ""),
    () => ruled(row, unit),
  ];
  for (const tried of tries) {
    const found = tried();
    if (found.length) {
      return found;
    }
  }
  return [];
}

/** Longer lists that begin with these numbers, then explanations of the numbers by themselves. */
function parts(row, unit, models) {
  const parts = partsOfFrequencies(row, unit, 0, models);
  const found = (parts.length ? parts : partsOfDivided(row, unit, models)).map((each) => told(each.what, { ...each, sure: false }));
  if (!found.length) {
    return [];
  }
  const alone = parts.length ? plain(row, unit, guesses(row), "") : ruled(row, unit);
  return [...found, ...mistaken(row, unit), ...alone.map((each) => ({ ...each, what: each.what + DOUBT, base: null }))];
}

/** Longer lists that begin with these numbers, after rounding to bfloat16. */
function roundedParts(row, unit, models) {
  if (row.length < FEW || !isOf("bfloat16", row, unit)) {
    return [];
  }
  const loss = 2 ** -ROUNDED.bfloat16;
  return partsOfFrequencies(row, unit, 0, models, loss).map(({ what, ...each }) =>
    told(what + as("bfloat16"), { ...each, sure: false, mistake: "narrow-frequencies" }),
  );
}

/** Released models with these frequencies, after rounding to a dtype. */
function modelled(row, unit, models, dtype) {
  const found = [];
  for (const model of models.filter((each) => each.frequencies.length === row.length)) {
    if (fitsAll(row, unit, model.frequencies, dtype)) {
      found.push(
        told(`frequencies of ${2 * row.length} rotated channels, base ${shown(model.base)}${model.words}${as(dtype)}`, {
          scheme: model.scheme,
          models: model.models,
          mistake: dtype && "narrow-frequencies",
        }),
      );
    }
  }
  return found;
}

/** RoPE frequencies of one of the bases, perhaps all divided by one factor. */
function plain(row, unit, bases, dtype) {
  for (const [base, w] of bases) {
    if (fitsAll(row, unit, w, dtype)) {
      const from = BASES.includes(base) ? "" : stretchedFrom(base, row.length);
      const size = `frequencies of ${2 * row.length} rotated channels`;
      const what = `${size}, base ${shown(base)}${from}${as(dtype)}`;
      const own = from ? {} : { base, sure: isExact(row, unit, BASES.includes(base) ? FEW : CERTAIN) };
      return [told(what, { ...own, mistake: dtype && "narrow-frequencies" })];
    }
    for (const factor of FACTORS) {
      if (BASES.includes(base) && fitsAll(row, unit, w.map((each) => each / factor), dtype)) {
        const what = `frequencies of base ${shown(base)}, all divided by ${factor}${as(dtype)}`;
        return [told(what, { scheme: "position-interpolation" })];
      }
    }
  }
  return [];
}

/** A scaling rule whose parameters are estimated from the frequencies. */
function ruled(row, unit) {
  for (const { scheme, base, words, frequencies: w } of solved(row)) {
    if (fitsAll(row, unit, w, "")) {
      const size = `frequencies of ${2 * row.length} rotated channels`;
      const own = ["rope", "position-interpolation"].includes(scheme) ? base : null;
      const sure = isExact(row, unit, CERTAIN);
      const what = `${size}, base ${shown(base)}${words}`;
      return [told(what, { scheme, base: own, sure, likely: false })];
    }
  }
  return [];
}

function mistaken(row, unit) {
  for (const [mistake, make] of Object.entries(MISTAKES)) {
    const base = BASES.find((each) => fitsAll(row, unit, make(each, row.length), ""));
    if (base) {
      const what = `frequencies of base ${shown(base)}, but with a known mistake`;
      return [told(what, { mistake, sure: isExact(row, unit, FEW) })];
    }
  }
  return [];
}

/** Whether so many numbers at least have two digits that count. */
const isExact = (row, unit, least) =>
  row.filter((value, t) => unit[t] < 0.02 * value).length >= least;

const as = (dtype) => (dtype ? `, rounded to ${dtype}` : "");

/** Bases estimated from a row, with their frequencies; none if its first pair is not RoPE's. */
function guesses(row) {
  const N = row.length;
  const last = row.findLastIndex((value) => value > 0);
  if (last < 1 || Math.abs(row[0] - 1) > 1e-6) {
    return [];
  }
  const found = row[last] ** (-N / last);
  return [2, 3, 4, 6, 9].map((digits) => {
    const base = Number(found.toPrecision(digits));
    return [base, rotaryFrequencies(2 * N, base)];
  });
}

/** Explanations of cosines, sines or both at consecutive positions, as they are or rounded. */
function table(rows, units, complex, models) {
  const flat = rows.flat();
  if (!flat.every((value) => Math.abs(value) <= 2) || rows[0].length < 2) {
    return [];
  }
  // Whole numbers, as of a mask, are the same in every dtype.
  const dtypes = flat.every(Number.isInteger) ? [EXACT] : LIKELY_DTYPES;
  for (const dtype of dtypes.filter((each) => isOf(each, flat, units.flat()))) {
    const found = tableOf(dtype, rows, units, complex, models);
    if (found.length) {
      return found;
    }
  }
  return [];
}

function tableOf(dtype, rows, units, complex, models) {
  const known = new Map();
  for (const [form, parts] of forms(rows, complex)) {
    const shownAs = Object.entries(parts).map(([wave, part]) => ({
      wave,
      values: part(rows),
      grain: part(units),
    }));
    const [{ values }] = shownAs;
    if (!values[0].length) {
      continue;
    }
    const found = [...placed(shownAs, models, known, dtype)];
    const named = (found.length || dtype ? found : [...calculated(shownAs)]).filter(
      (each) => values.length > 1 || isNamed(each, shownAs[0], dtype),
    );
    const answers = named.some((each) => isLikely(each, values))
      ? named
      : [...inDegrees(shownAs, models, dtype), ...named];
    if (answers.length) {
      const of = shownAs.map(({ wave }) => wave).join(" and ");
      return answers.map((each) => toldOf(each, { form, complex, dtype, shownAs }));
    }
  }
  return [];
}

/** With few numbers, a position that is far may be chance. */
const isLikely = ({ place }, values) =>
  values.length > 1 || values[0].length >= FEW || place < FAR;

/** Tables whose angles were taken for degrees, near the beginning. */
function inDegrees(parts, models, dtype) {
  const turned = models.map((each) => ({ ...each, frequencies: each.frequencies.map((w) => (w * Math.PI) / 180) }));
  return [...placed(parts, turned, new Map(), dtype, Math.PI / 180)]
    .filter((each) => each.place < FAR && (parts[0].values.length > 1 || isNamed(each, parts[0], dtype)))
    .map((each) => ({ ...each, mistake: DEGREES }));
}

/** Whether a single row says its position; at 0 all rows are equal. */
function isNamed({ place, rule }, { values: [row], grain: [units] }, dtype) {
  const pairs = row.map((value, t) => ({
    value: value / rule.amplitude,
    unit: (units[t] + rounding(dtype, value)) / rule.amplitude,
    frequency: rule.frequencies[t],
  }));
  return place !== 0 && exceedsChance(pairs, place);
}

function toldOf({ place, rule, mistake = "" }, { form, complex, dtype, shownAs }) {
  const [{ values }] = shownAs;
  const of = shownAs.map(({ wave }) => wave).join(" and ");
  const likely = isLikely({ place }, values);
  const what =
    `${complex ? "rotations as complex numbers" : `table of ${of}`} at ` +
    `${positions(place, values.length)}${form}; ${2 * values[0].length} rotated channels, ` +
    `base ${shown(rule.base)}${rule.words ?? ""}` +
    (rule.amplitude === 1 ? "" : `, made longer by ${rule.amplitude.toPrecision(5)}`) +
    (mistake && `, but with ${mistake}`) +
    as(dtype);
  const { scheme, base, models } = rule;
  const sure = likely && values.flat().length >= FEW;
  return told(what, { scheme, base, models, mistake: mistake === DEGREES ? "degrees" : "", table: true, likely, sure });
}

/** Released models and usual bases that match a table, with the position of its first row. */
function* placed(parts, models, known, dtype, unit = 1) {
  for (const rule of candidates(parts[0].values[0].length, models, unit)) {
    const place = fitting(parts, rule, known, dtype);
    if (place !== null) {
      yield { place, rule };
    }
  }
}

/** The first rule estimated from a table that reproduces it. */
function* calculated(parts) {
  const found = estimated(Object.fromEntries(parts.map(({ wave, values }) => [wave, values])));
  if (!found) {
    return;
  }
  const backwards = parts.length === 2 && found.estimate.slice(0, 2).every((w) => w < 0);
  const sign = backwards ? -1 : 1;
  const place = sign * found.first;
  for (const rule of solved(found.estimate.map((w) => sign * w))) {
    const turning = { ...rule, amplitude: found.longer, sign };
    if (place >= 0 && fits(parts, turning, place)) {
      const mistake = backwards ? "angles of the opposite sign" : "";
      yield { place, rule: { ...turning, models: [] }, mistake };
      return;
    }
  }
}

const left = (row) => row.slice(0, row.length / 2);
const right = (row) => row.slice(row.length / 2);
const evens = (row) => row.filter((_, c) => c % 2 === 0);
const odds = (row) => row.filter((_, c) => c % 2 === 1);
const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/** Ways to read one value for each pair from a row that may hold each value twice. */
function* onceEach(row) {
  if (row.length % 2 === 0 && row.length > 2) {
    if (same(left(row), right(row))) {
      yield [", in two equal halves, as for the layout half", left];
    }
    if (same(evens(row), odds(row))) {
      yield [", each value twice, as for the layout interleaved", evens];
    }
  }
  yield ["", (/** @type {number[]} */ each) => each];
}

/** Possible layouts of a table: where its cosines and sines are. */
function* forms(rows, complex) {
  const each = (pick) => (/** @type {number[][]} */ all) => all.map(pick);
  const middle = rows.at(-1); // not at position 0, where too many values are equal
  if (complex) {
    yield ["", { cosines: each(evens), sines: each(odds) }];
    return;
  }
  for (const [words, part] of onceEach(middle)) {
    if (rows.every((row) => same(part(row), words ? other(part)(row) : part(row)))) {
      yield [words, { cosines: each(part) }];
      yield [words, { sines: each(part) }];
    }
  }
  if (middle.length % 2 === 0) {
    for (const [words, part] of onceEach(left(middle))) {
      const [first, second] = [left, right].map((side) => each((row) => part(side(row))));
      yield [`, side by side, cosines first${words}`, { cosines: first, sines: second }];
      yield [`, side by side, sines first${words}`, { sines: first, cosines: second }];
    }
    yield [", cosine and sine by turns", { cosines: each(evens), sines: each(odds) }];
  }
  if (rows.length % 2 === 0 && rows.length > 2) {
    const half = rows.length / 2;
    for (const [words, part] of onceEach(rows[half - 1])) {
      const [first, second] = [[0, half], [half, rows.length]].map(
        ([from, to]) => (/** @type {number[][]} */ all) => all.slice(from, to).map(part),
      );
      yield [`, all cosines before all sines${words}`, { cosines: first, sines: second }];
      yield [`, all sines before all cosines${words}`, { sines: first, cosines: second }];
    }
  }
}

const other = (part) => (part === left ? right : odds);

const positions = (first, count) =>
  count > 1 ? `positions ${first} to ${first + count - 1}` : `position ${first}`;

function* candidates(N, models, unit) {
  const same = models.filter((model) => model.frequencies.length === N);
  yield* same;
  const known = same.filter(({ scheme }) => scheme === "rope").map(({ base }) => base);
  for (const base of BASES.filter((each) => !known.includes(each))) {
    const frequencies = rotaryFrequencies(2 * N, base).map((w) => w * unit);
    yield { scheme: "rope", base, amplitude: 1, frequencies, models: [] };
  }
}

const WAVES = { cosines: Math.cos, sines: Math.sin };

/** The position of the first row; null if a candidate does not fit. */
function fitting(parts, rule, known, dtype) {
  const [{ wave, values, grain }] = parts;
  const [w] = rule.frequencies;
  const name = [wave, values[0][0], w, rule.amplitude].join();
  const first = { value: values[0][0], unit: grain[0][0] + rounding(dtype, values[0][0]) };
  if (!known.has(name)) {
    known.set(name, places(first, w, rule.amplitude, WAVES[wave]));
  }
  return known.get(name).find((place) => fits(parts, rule, place, dtype)) ?? null;
}

/** Whether frequencies reproduce every value of a table whose first row is at `place`. */
function fits(parts, { frequencies: w, amplitude, sign = 1 }, place, dtype = EXACT) {
  return parts.every(({ wave, values, grain }) =>
    values.every((row, i) =>
      row.every((value, t) => {
        const angle = sign * (place + i) * w[t];
        const allowance = allowed(grain[i][t], amplitude, angle) + rounding(dtype, value);
        return Math.abs(amplitude * WAVES[wave](angle) - value) <= allowance;
      }),
    ),
  );
}

/** Positions at which the first channel fits; most of the sixty candidates share it. */
function places({ value, unit }, frequency, amplitude, of) {
  const found = [];
  for (let p = 0; p < POSITIONS; p++) {
    const angle = p * frequency;
    if (Math.abs(amplitude * of(angle) - value) <= allowed(unit, amplitude, angle)) {
      found.push(p);
    }
  }
  return found;
}

/** Whether printing and rounding to a dtype explain every difference. */
function fitsAll(row, unit, wanted, dtype) {
  const loss = dtype ? 2 ** -ROUNDED[dtype] : 8 * FLOAT32;
  return row.every(
    (value, t) => Math.abs(value - wanted[t]) <= 1.0001 * unit[t] + loss * wanted[t],
  );
}

function told(what, given) {
  return { what, ...NOTHING_MORE, ...given };
}
