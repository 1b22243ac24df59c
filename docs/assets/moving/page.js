/**
 * Interactive figures. Each has a module in this folder, whose `shown` takes the values of the
 * controls, and the numbers that the build read, and returns the strokes of each series and a
 * sentence that explains them.
 */
import { between } from "./between.js";
import { path } from "./path.js";
import { pick } from "./pick.js";
import { player } from "./play.js";
import { movable, words } from "./words.js";

const read = (text) => JSON.parse(text ?? "null");

/** The value of a control: a slider's place is an index into its values. */
const value = (control) => {
  if (control.type === "range") {
    return read(control.dataset.values)[Number(control.value)];
  }
  return control.type === "text" ? words(control) : control.value;
};

/** @param {HTMLElement} figure */
async function react(figure) {
  const { shown } = await import(`./${figure.dataset.module}.js`);
  const [frame, limits, numbers] = ["frame", "limits", "numbers"].map((name) =>
    read(figure.dataset[name]),
  );
  const controls = [...figure.querySelectorAll("input, select")];
  const lines = [...figure.querySelectorAll("path[data-series]")];
  const said = figure.querySelector(".moving-said");
  let [before, now] = [null, null];

  /** Show a part of the way from the last picture to the present one. */
  const paint = (share) => {
    for (const line of lines) {
      const { series, form } = line.dataset;
      const strokes = between(before?.strokes[series], now.strokes[series], { share, form });
      line.setAttribute("d", path(strokes, { frame, limits, form }));
    }
  };
  const compute = () => {
    for (const slider of controls.filter((each) => each.type === "range")) {
      const text = value(slider).toLocaleString("en").replace("-", "−");
      slider.setAttribute("aria-valuetext", text);
      slider.nextElementSibling.textContent = text;
    }
    const settings = Object.fromEntries(controls.map((each) => [each.name, value(each)]));
    [before, now] = [now, shown(settings, numbers)];
    for (const [axis, names] of Object.entries(now.names ?? {})) {
      figure.querySelectorAll(`text[data-axis=${axis}]`).forEach((text, n) => {
        text.textContent = names[n];
      });
    }
    said.textContent = now.said;
  };
  const stop = player(figure, { compute, paint });
  figure.addEventListener("input", () => {
    stop();
    compute();
    paint(1);
  });
  pick(figure, { frame, limits });
  movable(figure);
  compute();
  paint(1);
  figure.querySelector(".moving-sliders").hidden = false;
}

for (const figure of document.querySelectorAll("figure.moving")) {
  if (!("moves" in figure.dataset)) {
    figure.dataset.moves = ""; // another figure of the page loads the same script
    react(figure);
  }
}
