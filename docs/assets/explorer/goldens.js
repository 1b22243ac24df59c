/** The goldens of the specification, recomputed by this JavaScript. */
import { range } from "./evaluate.js";

const ROUNDOFF = 2 ** -53;

/**
 * Goldens that the calls here fail to reproduce within float64 accuracy. Control returns to the
 * browser between two goldens.
 * @param {any[]} schemes
 * @param {Record<string, Function>} calls
 * @returns {Promise<{checked: number, wrong: string[]}>}
 */
export async function check(schemes, calls) {
  let checked = 0;
  const wrong = [];
  for (const scheme of schemes) {
    for (const golden of scheme.goldens.filter(({ call }) => call in calls)) {
      await new Promise((done) => setTimeout(done));
      checked += 1;
      if (!reproduced(scheme, golden, calls)) {
        wrong.push(`${scheme.id}: ${golden.id}`);
      }
    }
  }
  return { checked, wrong };
}

function reproduced(scheme, golden, calls) {
  const call = scheme.calls[golden.call];
  const given = materialised(golden.arguments);
  const options = { ...call.combinations[golden.combination].conventions, ...golden.options };
  const keywords = Object.entries({ ...options, ...given }).filter(([name]) =>
    name in scheme.conventions ? scheme.conventions[name].passed : !(name in call.arguments),
  );
  const positional = Object.keys(call.arguments).map((name) => given[name]);
  const result = calls[golden.call](...positional, Object.fromEntries(keywords));
  const { rounding, angle } = scheme.accuracy;
  const terms = call.kind === "bias" ? (given.dim ?? 1) : 1; // a bias of dim channels is their sum
  const lost = terms * ROUNDOFF * (rounding + angle * (1 + largestAngle(given)));
  const near = (got, expected) =>
    expected === null ||
    Number(got) === expected ||
    Math.abs(got - expected) <= Math.max(1, Math.abs(expected)) * lost;
  if (golden.values) {
    const [got, expected] = [result.flat(Infinity), golden.values.flat(Infinity)];
    return got.length === expected.length && got.every((value, i) => near(value, expected[i]));
  }
  return golden.probes.every((probe) => {
    const index = probe.slice(0, -1);
    if (given.positions) {
      index[index.length - 2] = given.positions.indexOf(index.at(-2));
    }
    return near(
      index.reduce((part, i) => part[i], result),
      probe.at(-1),
    );
  });
}

/** The largest factor of a frequency of at most 1. */
function largestAngle({ scale, positions = [], num_frequencies = 0 }) {
  const times = (typeof scale === "number" ? scale : 1) * 2 ** num_frequencies;
  return times * Math.max(1, ...positions.map(Math.abs));
}

/** Arguments of a golden, with ranges and lattices expanded. */
function materialised(raw) {
  return Object.fromEntries(
    Object.entries(raw).map(([name, value]) => {
      if (value?.range) {
        const [start, stop, step = 1] = value.range;
        return [name, range(0, Math.ceil((stop - start) / step)).map((i) => start + i * step)];
      }
      return [name, value?.lattice ? lattice(value.lattice, value.start ?? 0) : value];
    }),
  );
}

/**
 * Element i in row-major order is ((37 (start + i) + 11) mod 63 - 31) / 32.
 * @param {number[]} shape
 * @param {number} start
 * @returns {any[]}
 */
function lattice(shape, start) {
  const [length, ...rest] = shape;
  const size = rest.reduce((product, each) => product * each, 1);
  return range(0, length).map((i) =>
    rest.length ? lattice(rest, start + i * size) : (((37 * (start + i) + 11) % 63) - 31) / 32,
  );
}
