/** The goldens of the specification, computed again by this JavaScript. */
import { range } from "./evaluate.js";

const ROUNDOFF = 2 ** -53;

/**
 * Which goldens the calls here reproduce, within what float64 allows.
 * @param {any[]} schemes
 * @param {Record<string, Function>} calls
 * @returns {{checked: number, wrong: string[]}}
 */
export function check(schemes, calls) {
  const all = schemes.flatMap((scheme) =>
    scheme.goldens
      .filter((golden) => golden.call in calls)
      .map((golden) => ({
        id: `${scheme.id}: ${golden.id}`,
        right: reproduced(scheme, golden, calls),
      })),
  );
  return { checked: all.length, wrong: all.filter(({ right }) => !right).map(({ id }) => id) };
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
  const scale = typeof given.scale === "number" ? given.scale : 1;
  const position = scale * Math.max(1, ...(given.positions ?? []).map(Math.abs));
  const { rounding, angle } = scheme.accuracy;
  const near = (got, expected) =>
    expected === null ||
    Math.abs(got - expected) <=
      Math.max(1, Math.abs(expected)) * ROUNDOFF * (rounding + angle * (1 + position));
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

/** Arguments of a golden: numbers and lists as they are, ranges and lattices as the format says. */
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
