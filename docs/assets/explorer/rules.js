/** Estimation of rotary frequencies that belong to no released model or usual base. */
import { llama3_frequencies } from "./schemes/rotary/llama3.js";
import { yarn_frequencies } from "./schemes/rotary/yarn.js";
import { rotaryFrequencies } from "./waves.js";

/** Bases to try first if they are near an estimate, and original bases of scaled ones. */
const COMMON = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2];
const STRETCHED = [1e4, 5e5, 1e6, 1e5];
/** The largest relative distance of a base from its estimate. */
const FAR = 0.3;
/** Least number of pairs to solve for parameters: two parameters fit any two numbers. */
const FEW = 4;
/** Original lengths to try. */
const LENGTHS = [2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1024, 512];

/**
 * @typedef {{scheme: string, base: number, words: string, frequencies: number[]}} Rule
 */

/**
 * Rules that an estimate of all frequencies suggests, the simplest first.
 * @param {number[]} estimate
 * @returns {Iterable<Rule>}
 */
export function* solved(estimate) {
  if (estimate.length >= FEW && estimate.every(Number.isFinite)) {
    yield* plain(estimate);
    yield* scaled(estimate);
    yield* partial(estimate);
  }
}

/** One geometric progression from 1, or the same divided by a factor. */
function* plain(estimate) {
  const N = estimate.length;
  // The last one that is still well above rounding determines the base best.
  const last = estimate.findLastIndex((w) => w > 0.2 * estimate[0]) || 1;
  const base = (estimate[0] / estimate[last]) ** (N / last);
  if (!(estimate[1] > 0 && base > 1 && base < 1e15)) {
    return;
  }
  for (const factor of round(1 / estimate[0])) {
    for (const each of [...near(base), ...round(base)]) {
      yield {
        scheme: factor === 1 ? "rope" : "position-interpolation",
        base: each,
        words: factor === 1 ? stretchedFrom(each, N) : `, all divided by ${shown(factor)}`,
        frequencies: rotaryFrequencies(2 * N, each).map((w) => w / factor),
      };
    }
  }
}

/** Llama 3's and YaRN's rules: fast pairs unchanged, slow ones divided, a ramp between. */
function* scaled(estimate) {
  const N = estimate.length;
  if (estimate.some((w, t) => t && !(w < estimate[t - 1]))) {
    return;
  }
  const fastest = (estimate[0] / estimate[1]) ** N;
  for (const base of [...near(fastest), ...round(fastest)]) {
    const usual = rotaryFrequencies(2 * N, base);
    const kept = estimate.map((w, t) => w / usual[t]);
    const slowest = kept[N - 1];
    if (Math.abs(kept[0] - 1) < 1e-3 && slowest > 0.001 && slowest < 0.99) {
      for (const factor of round(1 / slowest)) {
        yield* ramps(base, factor, usual, kept);
      }
    }
  }
}

function* ramps(base, factor, usual, kept) {
  const rotary_dim = 2 * usual.length;
  const ramp = kept.map((each) => (each - 1 / factor) / (1 - 1 / factor));
  const middle = ramp.flatMap((each, t) => (each > 0.01 && each < 0.99 ? [t] : []));
  const tried = LENGTHS.map((length) => [4, length]);
  const line = fitted(middle.map((t) => usual[t]), middle.map((t) => ramp[t]));
  if (line && line.start < 0 && line.slope > 0) {
    const high = Number((1 - 1 / line.start).toPrecision(3));
    tried.push([high, Math.round(2 * Math.PI * line.slope * (high - 1))]);
  }
  for (const [high_freq_factor, length] of tried) {
    const given = { base, factor, high_freq_factor, original_max_position_embeddings: length };
    yield* made("llama3", given, () =>
      llama3_frequencies(rotary_dim, { ...given, low_freq_factor: 1 }),
    );
  }
  for (const length of LENGTHS) {
    for (const how of ["index", "untruncated"]) {
      const given = { base, factor, ramp: how, original_max_position_embeddings: length };
      yield* made("yarn", given, () => yarn_frequencies(rotary_dim, given));
    }
  }
  const falling = fitted(middle, middle.map((t) => ramp[t]));
  if (middle.length > 2 && falling && falling.slope < 0) {
    const [first, last] = [1, 0].map((end) => (end - falling.start) / falling.slope);
    const part = (/** @type {number} */ t) =>
      Math.min(Math.max((last - t) / (last - first), 0), 1);
    yield {
      scheme: "yarn",
      base,
      words: `, factor ${shown(factor)}, a ramp from pair ${first.toPrecision(4)} to pair ${last.toPrecision(4)}`,
      frequencies: usual.map((w, t) => w * (part(t) + (1 - part(t)) / factor)),
    };
  }
}

/** The rule of a call, unless the call refuses the arguments. */
function* made(scheme, { base, ...given }, call) {
  try {
    const frequencies = call();
    const words = Object.entries(given).map(([name, value]) => `, ${name} ${shown(value)}`);
    yield { scheme, base, words: words.join(""), frequencies };
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) {
      throw error;
    }
  }
}

/** p-RoPE's rule: the first pairs rotate, the others have the frequency 0. */
function* partial(estimate) {
  const N = estimate.length;
  const turning = estimate.filter((w) => w !== 0).length;
  if (turning < 2 || turning === N || estimate.slice(turning).some((w) => w !== 0)) {
    return;
  }
  const base = (estimate[0] / estimate[turning - 1]) ** (N / (turning - 1));
  for (const each of [...near(base), ...round(base)]) {
    yield {
      scheme: "p-rope",
      base: each,
      words: `, proportion ${shown(turning / N)}`,
      frequencies: rotaryFrequencies(2 * N, each).map((w, t) => (t < turning ? w : 0)),
    };
  }
}

/** The scaling that explains an unusual base; empty if none does. */
export function stretchedFrom(base, N) {
  const found = STRETCHED.flatMap((smaller) => {
    const factor = (base / smaller) ** ((N - 1) / N);
    const tenth = Math.round(10 * factor) / 10;
    const fits = Math.abs(factor - tenth) < 1e-4 * tenth && tenth > 1.01 && tenth <= 128;
    return fits ? [`${shown(smaller)} with factor ${tenth}`] : [];
  });
  return found.length ? `, as NTK-aware scaling makes of ${found.join(" or of ")}` : "";
}

const near = (base) => COMMON.filter((each) => Math.abs(each - base) < FAR * base);

/** Nearby round numbers, and the number itself. */
function round(number) {
  const rounded = [1, 2, 3, 4, 5, 6].map((digits) => Number(number.toPrecision(digits)));
  return [...new Set([...rounded.filter((each) => Math.abs(each - number) < FAR * number), number])];
}

/** The least-squares line through some points, or null if there are too few. */
function fitted(x, y) {
  if (x.length < 2) {
    return null;
  }
  const mean = (/** @type {number[]} */ all) => all.reduce((sum, each) => sum + each, 0) / all.length;
  const [atX, atY] = [mean(x), mean(y)];
  const slope =
    mean(x.map((each, i) => (each - atX) * (y[i] - atY))) / mean(x.map((each) => (each - atX) ** 2));
  return { slope, start: atY - slope * atX };
}

export const shown = (number) =>
  typeof number === "number"
    ? number.toLocaleString("en-US", { maximumSignificantDigits: 9 })
    : String(number);

/**
 * Estimate the frequencies of rows at consecutive positions: from cosines and sines at any
 * positions, from one of the two only at positions from 0 on.
 * @param {{cosines?: number[][], sines?: number[][]}} parts
 * @returns {{estimate: number[], first: number, longer: number} | null}
 */
export function estimated({ cosines, sines }) {
  const [some] = [cosines ?? sines];
  if (some.length < 2 || !some.flat().every(Number.isFinite)) {
    return null;
  }
  return cosines && sines ? ofBoth(cosines, sines) : ofOne(cosines ? "cos" : "sin", some);
}

function ofBoth(cosines, sines) {
  const slowest = cosines[0].length - 1;
  const longer = lengthOf(Math.hypot(cosines[0][slowest], sines[0][slowest]));
  if (longer === null) {
    return null;
  }
  const turned = (/** @type {number} */ place) =>
    cosines[0].map((c, t) =>
      Math.atan2(
        sines[place][t] * c - cosines[place][t] * sines[0][t],
        cosines[place][t] * c + sines[place][t] * sines[0][t],
      ),
    );
  let steps = turned(1);
  for (let place = 2; place < cosines.length; place *= 2) {
    const seen = turned(place);
    steps = steps.map(
      (step, t) => (seen[t] + whole((place * step - seen[t]) / (2 * Math.PI))) / place,
    );
  }
  const slow = Math.atan2(sines[0][slowest], cosines[0][slowest]);
  const first = steps[slowest] ? Math.round(slow / steps[slowest]) : 0;
  return { estimate: steps, first, longer };
}

const whole = (turns) => 2 * Math.PI * Math.round(turns);

/** The amplitude of a pair, 1 if it is near 1; null if it is implausible. */
const lengthOf = (length) =>
  length > 0.2 && length < 10 ? (Math.abs(length - 1) < 5e-3 ? 1 : length) : null;

function ofOne(name, rows) {
  const longer = name === "cos" ? lengthOf(rows[0][0]) : 1;
  const begins = name === "cos" ? rows[0][0] : 0;
  if (longer === null || rows[0].some((value) => Math.abs(value - begins) > 0.01 * longer)) {
    return null;
  }
  const inverse = name === "cos" ? Math.acos : Math.asin;
  const angles = (/** @type {number} */ place) =>
    rows[place].map((value) => inverse(Math.min(Math.max(value / longer, -1), 1)));
  let steps = angles(1);
  for (let place = 2; place < rows.length; place *= 2) {
    const seen = angles(place);
    steps = steps.map((step, t) => nearer(name, seen[t], step, place));
  }
  return { estimate: steps, first: 0, longer };
}

/** The frequency that fits the angle at a place, nearest to the previous estimate. */
function nearer(name, angle, step, place) {
  const guess = place * step;
  const [best] = [angle, name === "cos" ? -angle : Math.PI - angle]
    .map((each) => each + whole((guess - each) / (2 * Math.PI)))
    .sort((a, b) => Math.abs(a - guess) - Math.abs(b - guess));
  // At the crest of a wave its angle is ill-determined.
  const slope = Math.abs(name === "cos" ? Math.sin(angle) : Math.cos(angle));
  return slope > 0.1 || Math.abs(guess) < 0.1 ? best / place : step;
}
