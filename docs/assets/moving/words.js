/** A sentence whose words can be moved, with the pointer or with buttons. */

const MOST = 6;

/** @param {HTMLInputElement} field */
export const words = (field) => field.value.trim().split(/\s+/).filter(Boolean).slice(0, MOST);

const SIDES = [
  ["left", "◂", -1],
  ["right", "▸", 1],
];

/** @param {HTMLElement} figure */
export function movable(figure) {
  const list = figure.querySelector(".moving-words");
  if (!list) {
    return;
  }
  const field = figure.querySelector("input[type=text]");
  const show = () => list.replaceChildren(...words(field).map(entry));
  const move = (from, to) => {
    const some = words(field);
    const [word] = some.splice(from, 1);
    some.splice(to, 0, word);
    field.value = some.join(" ");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const place = (item) => [...list.children].indexOf(item);

  list.addEventListener("click", ({ target }) => {
    const { by } = target.dataset;
    if (by) {
      const to = place(target.closest("li")) + Number(by);
      move(to - Number(by), to);
      // The buttons are new; the one for the other side, if the word has arrived at the end.
      const buttons = [...list.children[to].querySelectorAll("button:not(:disabled)")];
      (buttons.find((each) => each.dataset.by === by) ?? buttons[0])?.focus();
    }
  });
  let dragged = -1;
  list.addEventListener("pointerdown", ({ target }) => {
    dragged = place(target.closest("li"));
  });
  list.addEventListener("pointermove", ({ clientX, clientY, buttons, pointerId }) => {
    const to = place(document.elementFromPoint(clientX, clientY)?.closest("li"));
    if (buttons && dragged >= 0 && to >= 0 && to !== dragged) {
      list.setPointerCapture(pointerId); // not earlier, or no button would be clicked
      move(dragged, to);
      dragged = to;
    }
  });
  field.addEventListener("input", show);
  show();
}

/** An entry of the list: a button, the word, a button. */
function entry(word, place, all) {
  const item = document.createElement("li");
  const text = document.createElement("span");
  text.textContent = word;
  const [left, right] = SIDES.map(([side, sign, by]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.dataset.by = String(by);
    button.disabled = !(place + by in all);
    button.setAttribute("aria-label", `Move ${word} ${side}`);
    return button;
  });
  item.append(left, text, right);
  return item;
}
