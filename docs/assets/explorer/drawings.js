/** The heat map and the curve, in the colours of the site's light or dark theme. */
import { brief, element, shape } from "./elements.js";

const POSITIVE = [0, 137, 123];
const NEGATIVE = [244, 81, 30];
const MASKED = [128, 128, 128];
const [WIDTH, HEIGHT] = [640, 220];
const MARGIN = { left: 84, right: 12, top: 12, bottom: 34 };

/** Least and largest of the finite numbers. @param {number[]} values */
function extent(values) {
  let [least, largest] = [Infinity, -Infinity];
  for (const value of values) {
    if (Number.isFinite(value)) {
      least = Math.min(least, value);
      largest = Math.max(largest, value);
    }
  }
  return least <= largest ? [least, largest] : [0, 0];
}

/**
 * A picture with a cell for each number, and a frame around the selected one.
 * @param {import("./evaluate.js").View} view
 * @param {{row: number, column: number}} selected
 * @param {(row: number, column: number) => void} select
 */
export function heatMap(view, selected, select) {
  const { rows, rowAxis, columnAxis } = view;
  const [height, width] = [rows.length, rows[0].length];
  const [least, largest] = extent(rows.flat());
  const most = Math.max(Math.abs(least), Math.abs(largest)) || 1;
  const masked = rows.some((row) => row.includes(-Infinity));
  const shown = rowAxis
    ? `${height} by ${width}: a row for each ${rowAxis}, a column for each ${columnAxis}`
    : `${width} numbers, one for each ${columnAxis}`;
  const canvas = element("canvas", {
    width,
    height,
    role: "img",
    "aria-label":
      `${shown}; values from ${brief(least)} to ${brief(largest)}` +
      `${masked ? ", some masked" : ""}. The numbers follow below.`,
  });
  paint(canvas, rows, most);
  const frame = element("div", { className: "explorer-frame" });
  Object.assign(frame.style, {
    left: `${(100 * selected.column) / width}%`,
    top: `${(100 * selected.row) / height}%`,
    width: `${100 / width}%`,
    height: `${100 / height}%`,
  });
  const map = element("div", { className: "explorer-map" }, canvas, frame);
  map.style.height = `${Math.min(20, Math.max(1.6, 0.32 * height))}rem`;
  map.addEventListener("click", (event) => {
    const { left, top, width: wide, height: high } = canvas.getBoundingClientRect();
    const place = (part, count) => Math.min(Math.max(Math.floor(part * count), 0), count - 1);
    select(
      place((event.clientY - top) / high, height),
      place((event.clientX - left) / wide, width),
    );
  });
  const legend = element(
    "figcaption",
    {},
    `${shown}. `,
    element(
      "span",
      { className: "explorer-scale" },
      brief(-most),
      element("span", { className: "explorer-ramp" }),
      brief(most),
    ),
    masked ? ". Grey is masked: −∞." : "",
  );
  return element("figure", { className: "explorer-figure" }, map, legend);
}

/** Zero has the page's background colour, the largest magnitude a saturated one. */
function paint(canvas, rows, most) {
  const page = getComputedStyle(document.body)
    .backgroundColor.match(/\d+(\.\d+)?/g)
    ?.map(Number);
  const ground = page?.length === 3 ? page : [255, 255, 255];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  let at = 0;
  for (const row of rows) {
    for (const value of row) {
      const part = Number.isFinite(value) ? Math.min(Math.abs(value) / most, 1) : 1;
      const full = !Number.isFinite(value) ? MASKED : value > 0 ? POSITIVE : NEGATIVE;
      for (const colour of [0, 1, 2]) {
        image.data[at++] = ground[colour] + part * (full[colour] - ground[colour]);
      }
      image.data[at++] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/**
 * Curves on common axes; logarithmic if the values are positive and far apart.
 * @param {{name: string, values: number[], names: string[]}[]} curves
 * @param {string} axis name of the horizontal axis
 */
export function curves(curves, axis) {
  const [least, largest] = extent(curves.flatMap(({ values }) => values));
  const logarithmic = least > 0 && largest / least > 100;
  const scaled = logarithmic ? Math.log : (/** @type {number} */ value) => value;
  const [low, high] = [scaled(least), scaled(largest)];
  const longest = Math.max(...curves.map(({ values }) => values.length));
  const x = (/** @type {number} */ index) =>
    MARGIN.left + ((WIDTH - MARGIN.left - MARGIN.right) * index) / Math.max(longest - 1, 1);
  const y = (/** @type {number} */ value) => {
    const part = high > low ? (scaled(value) - low) / (high - low) : 0.5;
    return HEIGHT - MARGIN.bottom - (HEIGHT - MARGIN.top - MARGIN.bottom) * part;
  };
  const lines = curves.map(({ values }, which) => {
    const points = values.flatMap((value, index) =>
      Number.isFinite(value) ? [`${x(index).toFixed(2)},${y(value).toFixed(2)}`] : [],
    );
    return shape("polyline", { points: points.join(" "), class: `explorer-curve-${which}` });
  });
  const { names } = curves[0];
  const text = (words, attributes) => shape("text", attributes, words);
  const range = `from ${brief(least)} to ${brief(largest)}`;
  const scale = logarithmic ? ", logarithmic" : "";
  const bottom = HEIGHT - MARGIN.bottom;
  const drawing = shape(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      class: "explorer-curves",
      "aria-label": `${curves.map(({ name }) => name).join(" and ")}, ${range}${scale}`,
    },
    shape("path", {
      class: "explorer-axes",
      d: `M${MARGIN.left},${MARGIN.top}V${bottom}H${WIDTH - MARGIN.right}`,
    }),
    ...(least < 0 && largest > 0
      ? [
          shape("path", {
            class: "explorer-zero",
            d: `M${MARGIN.left},${y(0)}H${WIDTH - MARGIN.right}`,
          }),
        ]
      : []),
    ...lines,
    text(brief(largest, 3), { x: MARGIN.left - 6, y: MARGIN.top + 10, "text-anchor": "end" }),
    text(brief(least, 3), { x: MARGIN.left - 6, y: bottom, "text-anchor": "end" }),
    text(names[0], { x: MARGIN.left, y: HEIGHT - 12 }),
    text(names[names.length - 1], {
      x: WIDTH - MARGIN.right,
      y: HEIGHT - 12,
      "text-anchor": "end",
    }),
    text(axis + scale, { x: (MARGIN.left + WIDTH) / 2, y: HEIGHT - 12, "text-anchor": "middle" }),
  );
  const key = curves.map(({ name }, which) =>
    element("span", { className: `explorer-key-${which}` }, name),
  );
  return element(
    "figure",
    { className: "explorer-figure" },
    drawing,
    element("figcaption", {}, ...key, `, ${range}${scale}.`),
  );
}
