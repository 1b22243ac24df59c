/**
 * Play, pause and step. They move the slider that was used last, or the first one. Nothing moves
 * by itself, in a hidden tab, or outside of the window; one figure plays at a time.
 */

/** Milliseconds: of a slider from end to end, and of a step: the least, the most, and if calm. */
const [WHOLE, FASTEST, SLOWEST, CALM] = [12_000, 150, 900, 1_000];

/** Share of a step during which the picture moves; then it stands, so that it can be read. */
const GLIDE = 0.6;

const calm = matchMedia("(prefers-reduced-motion: reduce)");

let stopPlaying = () => {};
document.addEventListener("visibilitychange", () => document.hidden && stopPlaying());

/**
 * @param {HTMLElement} figure
 * @param {{compute: () => void, paint: (share: number) => void}} picture computes the next picture,
 *   and shows a part of the way to it
 * @returns {() => void} what stops the movement
 */
export function player(figure, { compute, paint }) {
  const row = figure.querySelector(".moving-play");
  const [button, note] = [row.querySelector("[data-play]"), row.querySelector("span")];
  const said = figure.querySelector(".moving-said");
  const sliders = [...figure.querySelectorAll("input[type=range]")];
  let [slider] = sliders;
  let request = 0;

  const label = () => {
    const name = figure.querySelectorAll("input, select").length > 1 ? ` “${slider.labels[0].textContent}”` : "";
    button.textContent = request ? "Pause" : `Play${name}`;
    note.textContent = calm.matches ? "Your system asks for less motion: one step a second." : "";
  };
  const move = (steps) => {
    const next = Number(slider.value) + steps;
    slider.value = String(next);
    compute();
  };
  const stop = () => {
    if (request) {
      cancelAnimationFrame(request);
      request = 0;
      delete figure.dataset.playing;
      paint(1);
      said.removeAttribute("aria-live");
      label();
    }
  };
  const start = () => {
    stopPlaying();
    stopPlaying = stop;
    figure.dataset.playing = "";
    said.setAttribute("aria-live", "off"); // a screen reader would read every step
    if (slider.value === slider.max) {
      move(-Number(slider.max));
      paint(1);
    }
    const quickest = Math.min(Math.max(WHOLE / Number(slider.max), FASTEST), SLOWEST);
    const pace = calm.matches ? CALM : quickest;
    const glide = calm.matches ? 0 : GLIDE * pace;
    let began = null;
    const frame = (time) => {
      request = requestAnimationFrame(frame);
      if (began === null || time - began >= pace) {
        if (slider.value === slider.max) {
          stop();
          return;
        }
        began = time;
        move(1);
      }
      paint(glide ? Math.min((time - began) / glide, 1) : 1);
    };
    request = requestAnimationFrame(frame);
    label();
  };
  row.addEventListener("click", ({ target }) => {
    const playing = request > 0;
    if (target === button) {
      (playing ? stop : start)();
    } else if (target.dataset.steps) {
      stop();
      move(Number(target.dataset.steps));
      paint(1);
    }
  });
  for (const each of sliders) {
    each.addEventListener("input", () => {
      slider = each;
      stop();
      label();
    });
  }
  calm.addEventListener("change", () => {
    stop();
    label();
  });
  new IntersectionObserver(([entry]) => entry.isIntersecting || stop()).observe(figure);
  label();
  return stop;
}
