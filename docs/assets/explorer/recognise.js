/**
 * Recognition of saved data of rotary embeddings: frequencies, and tables of cosines and sines in
 * the formats of libraries, with the released models that use them.
 */
import { DOUBT, USUAL, partsOfFrequencies } from "./beginnings.js";
import { estimated, shown, solved, stretchedFrom } from "./rules.js";
import { rotaryFrequencies } from "./waves.js";

/** Number of positions at which to look for a single row of a table. */
const POSITIONS = 131_072;
/** Bases to try if the numbers don't determine the base. */
const BASES = USUAL;
/** With fewer numbers than this, a match at a position beyond `FAR` may be chance. */
const FEW = 6;
const FAR = 4096;
const FLOAT32 = 2 ** -23;

/** Dtypes to which frequencies may be rounded, with their significant bits. */
const ROUNDED = { float16: 11, bfloat16: 8 };

/** Known mistakes of a progression of N frequencies. */
const MISTAKES = {
  "exponent-halved": (base, N) => progression(N, (t) => base ** (-t / (2 * N))),
  "exponent-to-the-end": (base, N) => progression(N, (t) => base ** (-t / (N - 1))),
  degrees: (base, N) => rotaryFrequencies(2 * N, base).map((w) => (w * Math.PI) / 180),
};

const progression = (N, of) => Array.from({ length: N }, (_, t) => of(t));

/**
 * @typedef {{what: string, scheme: string, mistake: string, models: string[], table: boolean, likely: boolean}} Told
 *   table is whether an additive encoding may have the same numbers; likely is false if the
 *   parameters are estimated from the numbers, so that any named call is likelier
 */

/**
 * @param {import("./paste.js").Pasted} pasted
 * @param {any[]} models entries of models.json
 * @returns {Told[]} the likeliest first; empty if the numbers are of another kind
 */
export function recognise({ rows, units, complex, leftOut }, models) {
  if (leftOut) {
    return partsOfFrequencies(rows[0], units[0], leftOut, models).map((each) => told(each.what, each));
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
  const found = partsOfFrequencies(row, unit, 0, models).map((each) => told(each.what, each));
  if (!found.length) {
    return [];
  }
  const alone = plain(row, unit, guesses(row), "");
  return [...found, ...mistaken(row, unit), ...alone.map((each) => ({ ...each, what: each.what + DOUBT }))];
}

/** Released models with these frequencies, after rounding to a dtype. */
function modelled(row, unit, models, dtype) {
  const found = [];
  for (const model of models.filter((each) => each.frequencies.length === row.length)) {
    if (fitsAll(row, unit, model.frequencies, dtype)) {
      found.push(
        told(`frequencies of ${2 * row.length} rotated channels, base ${shown(model.base)}${as(dtype)}`, {
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
      const what =
        `frequencies of ${2 * row.length} rotated channels, base ${shown(base)}` +
        (BASES.includes(base) ? "" : stretchedFrom(base, row.length)) +
        as(dtype);
      return [told(what, { mistake: dtype && "narrow-frequencies" })];
    }
    for (const factor of [2, 4, 8, 16, 32]) {
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
      return [told(`${size}, base ${shown(base)}${words}`, { scheme, likely: false })];
    }
  }
  return [];
}

function mistaken(row, unit) {
  for (const [mistake, make] of Object.entries(MISTAKES)) {
    const base = BASES.find((each) => fitsAll(row, unit, make(each, row.length), ""));
    if (base) {
      return [told(`frequencies of base ${shown(base)}, but with a known mistake`, { mistake })];
    }
  }
  return [];
}

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

/** Explanations of cosines, sines or both at consecutive positions. */
function table(rows, units, complex, models) {
  if (!rows.flat().every((value) => Math.abs(value) <= 2) || rows[0].length < 2) {
    return [];
  }
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
    const found = [...placed(shownAs, models, known)];
    const answers = (found.length ? found : [...calculated(shownAs)]).filter(
      ({ place }) => place !== 0 || values.length > 1, // at position 0 all rows are equal
    );
    if (answers.length) {
      const of = shownAs.map(({ wave }) => wave).join(" and ");
      return answers.map(({ place, rule, mistake = "" }) =>
        told(
          `${complex ? "rotations as complex numbers" : `table of ${of}`} at ` +
            `${positions(place, values.length)}${form}; ${2 * values[0].length} rotated channels, ` +
            `base ${shown(rule.base)}${rule.words ?? ""}` +
            (rule.amplitude === 1 ? "" : `, made longer by ${rule.amplitude.toPrecision(5)}`) +
            (mistake && `, but with ${mistake}`),
          {
            scheme: rule.scheme,
            models: rule.models,
            table: true,
            likely: values.length > 1 || values[0].length >= FEW || place < FAR,
          },
        ),
      );
    }
  }
  return [];
}

/** Released models and usual bases that match a table, with the position of its first row. */
function* placed(parts, models, known) {
  for (const rule of candidates(parts[0].values[0].length, models)) {
    const place = fitting(parts, rule, known);
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

function* candidates(N, models) {
  const same = models.filter((model) => model.frequencies.length === N);
  yield* same;
  const known = same.filter(({ scheme }) => scheme === "rope").map(({ base }) => base);
  for (const base of BASES.filter((each) => !known.includes(each))) {
    yield { scheme: "rope", base, amplitude: 1, frequencies: rotaryFrequencies(2 * N, base), models: [] };
  }
}

const WAVES = { cosines: Math.cos, sines: Math.sin };

/** The position of the first row; null if a candidate does not fit. */
function fitting(parts, rule, known) {
  const [{ wave, values, grain }] = parts;
  const [w] = rule.frequencies;
  const name = [wave, values[0][0], w, rule.amplitude].join();
  if (!known.has(name)) {
    known.set(name, places(values[0][0], grain[0][0], w, rule.amplitude, WAVES[wave]));
  }
  return known.get(name).find((place) => fits(parts, rule, place)) ?? null;
}

/** Whether frequencies reproduce every value of a table whose first row is at `place`. */
function fits(parts, { frequencies: w, amplitude, sign = 1 }, place) {
  return parts.every(({ wave, values, grain }) =>
    values.every((row, i) =>
      row.every((value, t) => {
        const angle = sign * (place + i) * w[t];
        const allowance = allowed(grain[i][t], amplitude, angle);
        return Math.abs(amplitude * WAVES[wave](angle) - value) <= allowance;
      }),
    ),
  );
}

/** Positions at which the first channel fits; most of the sixty candidates share it. */
function places(value, unit, frequency, amplitude, of) {
  const found = [];
  for (let p = 0; p < POSITIONS; p++) {
    const angle = p * frequency;
    if (Math.abs(amplitude * of(angle) - value) <= allowed(unit, amplitude, angle)) {
      found.push(p);
    }
  }
  return found;
}

/** A printed unit plus the float32 error of an angle. */
const allowed = (unit, scale, angle) =>
  1.0001 * unit + scale * FLOAT32 * (4 + 8 * Math.abs(angle));

/** Whether printing and rounding to a dtype explain every difference. */
function fitsAll(row, unit, wanted, dtype) {
  const loss = dtype ? 2 ** -ROUNDED[dtype] : 8 * FLOAT32;
  return row.every(
    (value, t) => Math.abs(value - wanted[t]) <= 1.0001 * unit[t] + loss * wanted[t],
  );
}

function told(what, { likely = true, scheme = "rope", mistake = "", models = [], table = false }) {
  return { what, scheme, mistake, models, table, likely };
}
