/**
 * Figures that react. Each has a module beside this one, whose `shown` takes the values of the
 * sliders and says where everything stands and what that means in words.
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
    figure.dataset.moves = ""; // another figure of the page has the same script
    react(figure);
  }
}
