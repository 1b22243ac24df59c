/** A slider that follows the pointer over the picture. */

/**
 * @param {HTMLElement} figure
 * @param {{frame: number[], limits: number[]}} drawing as in path.js
 */
export function pick(figure, { frame, limits }) {
  if (!figure.dataset.pick) {
    return;
  }
  const { slider: name, axis, start, pitch } = JSON.parse(figure.dataset.pick);
  const svg = figure.querySelector("svg");
  const slider = figure.querySelector(`input[name=${name}]`);
  const [left, top, right, bottom] = frame;
  const [fromX, toX, fromY, toY] = limits;
  const place = ({ clientX, clientY }) => {
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const across = ((clientX - box.left) * unit - left) / (right - left);
    const down = ((clientY - box.top) * unit - bottom) / (top - bottom);
    return axis === "x" ? fromX + across * (toX - fromX) : fromY + down * (toY - fromY);
  };
  const point = (event) => {
    const index = Math.floor((place(event) - start) / pitch);
    if (index >= 0 && index <= Number(slider.max) && index !== Number(slider.value)) {
      slider.value = String(index);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointermove", (event) => {
    if (!("playing" in figure.dataset)) {
      point(event); // on its way to the button that pauses, the pointer changes nothing
    }
  });
}
