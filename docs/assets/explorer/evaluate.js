/** The numbers to show for a setting. */
import { axesOf } from "./settings.js";

/** Larger results are slow to compute or draw, and useless to look at. */
const MOST = { numbers: 1_000_000, side: 16_384, num_buckets: 1024 };

/** Axis names of calls that differ from those of their kind. */
const AXES = { relative_table_2d_rows: ["query", "key"] };

/**
 * @typedef {{rows: number[][], rowAxis: string, columnAxis: string, rowNames: string[],
 *   columnNames: string[]}} View
 */

/** `count` numbers from `from` on, in steps of 1. */
export function range(from, count) {
  return Array.from({ length: count }, (_, index) => from + index);
}

/**
 * The call that a setting makes: positional arguments, and conventions and parameters by name.
 * @param {import("./settings.js").Setting} setting
 */
export function argumentsOf({ scheme, call, values }) {
  const { arguments: taken, parameters, kind } = scheme.calls[call];
  limited(values, taken, kind);
  const options = {};
  for (const axis of axesOf(scheme, call)) {
    const chosen = scheme.conventions[axis].values.find(
      ({ value }) => String(value) === values[axis],
    );
    if (chosen) {
      options[axis] = chosen.value;
    }
  }
  for (const [name, { passed }] of Object.entries(parameters)) {
    if (passed && values[name]?.trim()) {
      options[name] = number(name, values);
    }
  }
  const build = {
    positions: () => range(number("from", values), count("rows", values)),
    relative_position: () => range(number("from", values), count("rows", values)),
    x: () => Array(count("rows", values)).fill(filled(list("x", values), channels(values))),
    "nerf.x": () => between(number("first", values), number("last", values), count("rows", values)),
    table: () => range(0, count("num_buckets", values)).map((bucket) => [bucket]),
    "clipped_bias.table": () => {
      const rows = count("rows", values);
      return range(-Math.floor(rows / 2), rows).map((offset) => [offset]);
    },
    factors: () => list("factors", values),
    bias: () => filled(list("bias", values), channels(values)),
    r1: () => [number("r1", values)],
    r2: () => [number("r2", values)],
  };
  const positional = Object.keys(taken).map((name) => {
    const make = build[`${call}.${name}`] ?? build[name];
    return make?.() ?? number(name, values);
  });
  return { positional, options };
}

/** Channels of a row of x. */
const channels = (values) => count("head_dim" in values ? "head_dim" : "dim", values);

/** Points at equal distances, each with one coordinate. */
const between = (first, last, points) =>
  range(0, points).map((i) => [first + ((last - first) * i) / Math.max(points - 1, 1)]);

/** Refuse results that are too large to show, before computing them. */
function limited(values, taken, kind) {
  const size = (/** @type {string[]} */ ...names) =>
    names.reduce((product, name) => product * Math.max(Number(values[name] ?? 1), 1), 1);
  const down = size("rows", "height", "width", "q_len", ...("length" in taken ? ["length"] : []));
  const across =
    kind === "position-ids" ? down : size("dim", "head_dim", "k_len") + Number(values.encoding_dim ?? 0);
  const heads = size("heads");
  for (const side of [down, across, heads, size("rotary_dim")]) {
    if (side > MOST.side) {
      throw new RangeError(`the result would have an axis of ${side}; the page shows ${MOST.side}`);
    }
  }
  const all = down * across * heads;
  if (all > MOST.numbers) {
    throw new RangeError(`the result would have ${all} numbers; the page shows ${MOST.numbers}`);
  }
  if (size("num_buckets") > MOST.num_buckets) {
    throw new RangeError(
      `num_buckets is ${values.num_buckets}; the page takes ${MOST.num_buckets}`,
    );
  }
}

function number(name, values) {
  const value = Number(values[name]);
  if (!values[name].trim() || Number.isNaN(value)) {
    throw new TypeError(`${name} is ${values[name].trim() || "empty"}; it must be a number`);
  }
  return value;
}

function count(name, values) {
  const value = number(name, values);
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(`${name} is ${value}; it must be a whole number of at least 1`);
  }
  return value;
}

function list(name, values) {
  const found = values[name]
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  if (!found.length || found.some(Number.isNaN)) {
    throw new TypeError(`${name} must be one number or more, with spaces between`);
  }
  return found;
}

function filled(numbers, length) {
  return Array.from({ length }, (_, index) => numbers[index % numbers.length]);
}

/**
 * The result of a setting's call, as rows and columns with names.
 * @param {import("./settings.js").Setting} setting
 * @param {Record<string, Function>} calls
 * @returns {View}
 */
export function evaluate(setting, calls) {
  const { positional, options } = argumentsOf(setting);
  const result = calls[setting.call](...positional, options);
  const { kind, axes: usual, arguments: taken } = setting.scheme.calls[setting.call];
  const axes = AXES[setting.call] ?? usual;
  const [columnAxis] = axes.slice(-1);
  if (kind === "bias") {
    const head = "heads" in taken ? number("head", setting.values) : 0;
    if (!(head in result)) {
      throw new RangeError(`head is ${head}; there are heads 0 to ${result.length - 1}`);
    }
    return named(result[head], "query", "key");
  }
  if (axes.length === 1) {
    const names = kind === "bucket" ? positional[0].map(String) : undefined;
    return named([result], "", columnAxis, [""], names);
  }
  const rows = kind === "mask" ? result.map((row) => row.map(Number)) : result;
  return named(rows, axes[0], columnAxis, rowNames(kind, positional));
}

function named(rows, rowAxis, columnAxis, names, columns) {
  return {
    rows,
    rowAxis,
    columnAxis,
    rowNames: names ?? range(0, rows.length).map(String),
    columnNames: columns ?? range(0, rows[0].length).map(String),
  };
}

function rowNames(kind, positional) {
  if (kind === "grid") {
    const [height, width] = positional;
    return range(0, height * width).map(
      (cell) => `${cell} (row ${Math.floor(cell / width)}, column ${cell % width})`,
    );
  }
  if (kind === "layer") {
    return positional[0].map(([point]) => String(Number(point.toPrecision(4))));
  }
  const positions = positional.find(
    (argument, index) => Array.isArray(argument) && (index > 0 || !Array.isArray(argument[0])),
  );
  return positions?.map(String);
}

/**
 * The largest difference of two views and its place, or why they cannot be compared.
 * @param {View} a
 * @param {View} b
 */
export function difference(a, b) {
  const shapes = [a, b].map(({ rows }) => `${rows.length} × ${rows[0].length}`);
  if (shapes[0] !== shapes[1]) {
    return { comparable: false, shapes };
  }
  let [largest, row, column, different] = [0, 0, 0, 0];
  a.rows.forEach((values, i) =>
    values.forEach((value, j) => {
      const other = b.rows[i][j];
      const apart = value === other ? 0 : Math.abs(value - other);
      different += Number(apart > 0);
      if (apart > largest) {
        [largest, row, column] = [apart, i, j];
      }
    }),
  );
  return { comparable: true, shapes, largest, row, column, different };
}
