/**
 * Interactive figures. Each has a module in this folder, whose `shown` takes the values of the
 * sliders and returns the strokes and a sentence that explains them.
 */
import { path } from "./path.js";

/** @param {HTMLInputElement} slider whose place is an index into its values */
const value = (slider) => JSON.parse(slider.dataset.values)[Number(slider.value)];

/** @param {HTMLElement} figure */
async function react(figure) {
  const { shown } = await import(`./${figure.dataset.module}.js`);
  const frame = JSON.parse(figure.dataset.frame);
  const limits = JSON.parse(figure.dataset.limits);
  const sliders = [...figure.querySelectorAll("input")];
  const said = figure.querySelector(".moving-said");
  const draw = () => {
    for (const slider of sliders) {
      const words = value(slider).toLocaleString("en").replace("-", "−");
      slider.setAttribute("aria-valuetext", words);
      slider.nextElementSibling.textContent = words;
    }
    const now = shown(Object.fromEntries(sliders.map((each) => [each.name, value(each)])));
    for (const line of figure.querySelectorAll("path[data-series]")) {
      const { series, form } = line.dataset;
      line.setAttribute("d", path(now.strokes[series], { frame, limits, form }));
    }
    said.textContent = now.said;
  };
  figure.addEventListener("input", draw);
  figure.querySelector(".moving-sliders").hidden = false;
}

for (const figure of document.querySelectorAll("figure.moving")) {
  if (!("moves" in figure.dataset)) {
    figure.dataset.moves = ""; // another figure of the page loads the same script
    react(figure);
  }
}
