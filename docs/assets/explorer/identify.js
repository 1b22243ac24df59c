/**
 * Identification of the scheme and call that give pasted numbers, as in `posenc identify`, but for
 * printed numbers and rows at any position.
 */
import { MISTAKES, SEARCHES } from "./searches.js";

/** Numbers may have been computed in float32. */
const ROUNDOFF = 2 ** -24;
/** 1 + |ln w| for the lowest frequency in use. */
const LOGARITHM = 20;
/** With fewer numbers than this, a match at a position beyond `FAR` may be chance. */
export const FEW = 6;
export const FAR = 4096;
/** Calls whose values lie between -1 and 1; the error of other calls is relative to each value. */
const WAVES = ["sinusoidal", "timestep", "sincos_2d"];

/**
 * @typedef {import("./searches.js").Candidate & {scheme: any, call: string, combination: string,
 *   mistake: string | null, residual: number, others: number}} Found
 *   residual is the largest difference; others counts matches that differ only in base or position
 */

/**
 * @param {import("./paste.js").Pasted} pasted
 * @param {any[]} schemes
 * @param {Record<string, Function>} calls
 * @param {{near?: boolean}} [wanted] whether to look for mistakes and the nearest call, too
 * @returns {{matches: Found[], nearest: Found | null}} the best first; nearest if there is no match
 */
export function identify(pasted, schemes, calls, { near = true } = {}) {
  const context = { ...pasted, calls, seen: new Map() };
  const few = pasted.rows.flat().length < FEW;
  const doubtful = [];
  for (const mistake of near ? [null, ...MISTAKES] : [null]) {
    const matches = [...found({ ...context, mistake, near: false }, schemes)];
    const likely = matches.filter(({ place }) => !(few && place >= FAR));
    if (likely.length) {
      return { matches: simplest([...likely, ...doubtful]), nearest: null };
    }
    doubtful.push(...matches);
  }
  if (doubtful.length || !near) {
    return { matches: simplest(doubtful), nearest: null };
  }
  const all = [...found({ ...context, mistake: null, near: true }, schemes)];
  const nearest = all.reduce((a, b) => (a && a.residual <= b.residual ? a : b), null);
  return { matches: [], nearest };
}

/** Candidates that equal the pasted numbers to the printed precision, or all if `near`. */
function* found(context, schemes) {
  for (const scheme of schemes) {
    for (const [call, search] of Object.entries(SEARCHES)) {
      const combinations = Object.entries(scheme.calls[call]?.combinations ?? {});
      for (const [combination, { conventions }] of combinations) {
        for (const candidate of search({ ...context, scheme, call, combination, conventions })) {
          const residual = compared(candidate, { ...context, scheme, call });
          if (residual !== null) {
            const { mistake } = context;
            yield { ...candidate, scheme, call, combination, mistake, residual, others: 0 };
          }
        }
      }
    }
  }
}

/**
 * The largest difference between a candidate's rows and the pasted ones. Null if their shapes
 * differ, if the call refuses the arguments, or, unless `near`, if a difference is more than
 * printing explains.
 */
function compared({ place, result }, { rows, units, scheme, call, near }) {
  const expected = resultOf(result);
  if (expected?.length !== rows.length || expected[0].length !== rows[0].length) {
    return null;
  }
  const { rounding, angle } = scheme.accuracy;
  const wave = WAVES.includes(call);
  let worst = 0;
  for (let i = 0; i < rows.length; i++) {
    for (let j = 0; j < rows[i].length; j++) {
      const apart = rows[i][j] === expected[i][j] ? 0 : Math.abs(rows[i][j] - expected[i][j]);
      const scale = wave ? 1 : Math.abs(expected[i][j]);
      const lost = scale * ROUNDOFF * (rounding + angle * (wave ? place + i : LOGARITHM));
      // A whole unit, for numbers that are truncated, not rounded, such as 0.8414 for sin 1.
      const isOdd = apart && !Number.isFinite(apart); // hidden in one of them alone
      if (!near && apart && (isOdd || !(apart <= 1.0001 * units[i][j] + lost))) {
        return null;
      }
      worst = Math.max(worst, apart);
    }
  }
  return worst;
}

function resultOf(result) {
  try {
    return result();
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) {
      return null; // the call refuses these arguments
    }
    throw error;
  }
}

/** Of matches that differ only in base, position or size, the simplest: the one tried first. */
function simplest(matches) {
  const kept = new Map();
  for (const match of matches) {
    const name = [match.call, match.combination, match.rule].join();
    const first = kept.get(name);
    if (first) {
      first.others += 1;
    } else {
      kept.set(name, match);
    }
  }
  return [...kept.values()].sort((a, b) => a.residual - b.residual);
}
