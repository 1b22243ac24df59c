/**
 * Strokes as SVG draws them: lines through points, boxes by two corners, or single dots.
 * @param {[number, number][][]} strokes
 * @param {{frame: number[], limits: number[], form: string}} drawing frame is where the axes lie
 *   (left, top, right, bottom), limits is what they reach from and to (x, then y)
 * @returns {string} what the attribute d of a path is
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
