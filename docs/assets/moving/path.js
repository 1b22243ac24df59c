/**
 * Strokes as an SVG path: lines through points, boxes from two corners, or single dots.
 * @param {[number, number][][]} strokes
 * @param {{frame: number[], limits: number[], form: string}} drawing frame is the rectangle
 *   of the axes (left, top, right, bottom), limits their ranges (x, then y)
 * @returns {string} the attribute d of a path
 */
export function path(strokes, { frame, limits, form }) {
  const [left, top, right, bottom] = frame;
  const [fromX, toX, fromY, toY] = limits;
  const place = ([x, y]) => [
    (left + ((right - left) * (x - fromX)) / (toX - fromX)).toFixed(1),
    (bottom - ((bottom - top) * (y - fromY)) / (toY - fromY)).toFixed(1),
  ];
  const drawn = (stroke) => {
    const places = stroke.map(place);
    if (form === "box") {
      const [[a, b], [c, d]] = places;
      return `M${a},${b}H${c}V${d}H${a}Z`;
    }
    return `M${places.join("L")}${places.length === 1 ? "h0" : ""}`;
  };
  return strokes.map(drawn).join("");
}
