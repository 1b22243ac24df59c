/** The explorer's page: what is chosen, what is shown, and the address that keeps it. */
import { curves, heatMap } from "./drawings.js";
import { brief, element } from "./elements.js";
import { difference, evaluate } from "./evaluate.js";
import { fillForm } from "./form.js";
import { check } from "./goldens.js";
import { identify } from "./identify.js";
import { parse } from "./paste.js";
import * as calls from "./schemes/index.js";
import { combinationsOf, fromAddress, toAddress } from "./settings.js";

/** Rows and columns of the table of numbers. */
const TABLE = { rows: 8, columns: 8 };
const PREFIX = { a: "", b: "b." };

const at = (/** @type {string} */ id) =>
  /** @type {any} */ (document.getElementById(`explorer-${id}`));

const answer = await fetch(new URL("schemes.json", import.meta.url));
/** @type {{schemes: any[]}} */
const { schemes } = await answer.json();

/** What the reader looks at; `settings.b` is shown if `comparing`. */
const state = readAddress();

start();

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const whole = (/** @type {string} */ name) =>
    Math.max(Math.trunc(Number(address.get(name))) || 0, 0);
  return {
    settings: {
      a: fromAddress(address, PREFIX.a, schemes, calls),
      b: fromAddress(address, address.has("b.scheme") ? PREFIX.b : PREFIX.a, schemes, calls),
    },
    comparing: address.has("b.scheme"),
    row: whole("row"),
    column: whole("column"),
  };
}

function writeAddress() {
  const parts = [
    ...toAddress(state.settings.a, PREFIX.a),
    ...(state.comparing ? toAddress(state.settings.b, PREFIX.b) : []),
    ["row", String(state.row)],
    ["column", String(state.column)],
  ];
  history.replaceState(history.state, "", `#${new URLSearchParams(parts)}`);
}

function start() {
  fillForms();
  at("compare").addEventListener("change", () => {
    state.comparing = at("compare").checked;
    if (state.comparing) {
      state.settings.b = structuredClone({ ...state.settings.a, scheme: null });
      state.settings.b.scheme = state.settings.a.scheme;
    }
    fillForms();
    changed();
  });
  for (const name of ["row", "column"]) {
    at(name).addEventListener("input", () => {
      state[name] = Math.max(Math.trunc(Number(at(name).value)) || 0, 0);
      changed();
    });
  }
  at("digits").addEventListener("change", show);
  at("copy").addEventListener("click", copy);
  at("paste").addEventListener("input", tellPasted);
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("scheme=")) {
      // otherwise it is the anchor of a heading
      Object.assign(state, readAddress());
      fillForms();
      show();
    }
  });
  new MutationObserver(show).observe(document.body, {
    attributes: true,
    attributeFilter: ["data-md-color-scheme"],
  });
  show();
  at("tool").hidden = false;
  setTimeout(tellGoldens);
}

function fillForms() {
  at("compare").checked = state.comparing;
  at("b").hidden = !state.comparing;
  for (const name of shownNames()) {
    fillForm(at(name), state.settings[name], schemes, calls, (setting) => {
      state.settings[name] = setting;
      changed();
    });
  }
}

function changed() {
  show();
  writeAddress();
}

/** Names of the settings that are shown. */
function shownNames() {
  return state.comparing ? ["a", "b"] : ["a"];
}

function titleOf(name) {
  const setting = state.settings[name];
  const [combination = "conventions without a name"] = combinationsOf(setting);
  return `${state.comparing ? `${name.toUpperCase()}: ` : ""}${setting.call}, ${combination}`;
}

function show() {
  const views = [];
  for (const name of shownNames()) {
    try {
      views.push(evaluate(state.settings[name], calls));
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) {
        throw error;
      }
      tell("problem", `${titleOf(name)}: ${error.message}.`);
      return;
    }
  }
  tell("problem", "");
  const [first] = views;
  for (const [name, last] of Object.entries({
    row: first.rows.length - 1,
    column: first.rows[0].length - 1,
  })) {
    state[name] = Math.min(state[name], last);
    at(name).max = last;
    if (Number(at(name).value) !== state[name]) {
      at(name).value = state[name];
    }
  }
  const within = ({ rows }) => ({
    row: Math.min(state.row, rows.length - 1),
    column: Math.min(state.column, rows[0].length - 1),
  });
  const select = (/** @type {number} */ row, /** @type {number} */ column) => {
    Object.assign(state, { row, column });
    changed();
  };
  const each = (make) =>
    views.map((view, i) => {
      const title = titleOf(shownNames()[i]);
      return element(
        "div",
        { role: "group", "aria-label": title },
        element("p", { className: "explorer-title" }, title),
        make(view, within(view)),
      );
    });
  at("maps").replaceChildren(...each((view, selected) => heatMap(view, selected, select)));
  at("tables").replaceChildren(...each(table));
  at("curve").replaceChildren(curveOf(views, within));
  at("numbers").replaceChildren(...each(numbers));
  tellDifference(views);
}

/** The number at a place, as the axes call it. */
function placeOf({ rowAxis, columnAxis, rowNames, columnNames }, row, column) {
  const place = `${columnAxis} ${columnNames[column]}`;
  return rowAxis ? `${rowAxis} ${rowNames[row]}, ${place}` : place;
}

/** The numbers from the selected place on, as many as fit on a telephone. */
function table(view, { row, column }) {
  const { rows, rowAxis, columnAxis, rowNames, columnNames } = view;
  const top = Math.min(row, Math.max(rows.length - TABLE.rows, 0));
  const left = Math.min(column, Math.max(rows[0].length - TABLE.columns, 0));
  const columns = columnNames.slice(left, left + TABLE.columns);
  const corner = rowAxis ? `${rowAxis} \\ ${columnAxis}` : columnAxis;
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, corner),
    ...columns.map((name) => element("th", { scope: "col" }, name)),
  );
  const body = rows.slice(top, top + TABLE.rows).map((values, i) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, rowNames[top + i]),
      ...columns.map((_, j) => {
        const selected = top + i === row && left + j === column;
        return element(
          "td",
          { className: selected ? "explorer-selected" : "" },
          brief(values[left + j]),
        );
      }),
    ),
  );
  return element(
    "div",
    {
      className: "explorer-wide",
      tabIndex: 0,
      role: "group",
      "aria-label": `numbers from ${placeOf(view, top, left)} on`,
    },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)),
  );
}

/** One channel over positions, or all numbers where there is a single row. */
function curveOf(views, within) {
  const lines = views.map((view, i) => {
    const title = titleOf(shownNames()[i]);
    if (view.rows.length === 1) {
      return { name: title, values: view.rows[0], names: view.columnNames };
    }
    const { column } = within(view);
    const { columnAxis, columnNames, rows, rowNames } = view;
    return {
      name: `${title}, ${columnAxis} ${columnNames[column]}`,
      values: rows.map((row) => row[column]),
      names: rowNames,
    };
  });
  const [{ rows, rowAxis, columnAxis }] = views;
  return curves(lines, rows.length === 1 ? columnAxis : rowAxis);
}

/** The numbers of the selected row, to be read or copied. */
function numbers(view, { row }) {
  const digits = at("digits").value;
  const printed = view.rows[row].map((value) =>
    value === -Infinity ? "-inf" : digits === "all" ? String(value) : value.toFixed(digits),
  );
  const [first, last] = [0, view.rows[0].length - 1].map((column) => placeOf(view, row, column));
  return element("textarea", {
    readOnly: true,
    rows: 4,
    value: printed.join(", "),
    "aria-label": `numbers from ${first} to ${last}`,
  });
}

async function copy() {
  const [area] = at("numbers").querySelectorAll("textarea");
  try {
    await navigator.clipboard.writeText(area.value);
    tell("copied", "Copied.");
  } catch {
    area.select();
    tell("copied", "The browser allows no copying: the numbers are selected, copy them by hand.");
  }
}

function tellDifference(views) {
  at("difference").hidden = !state.comparing;
  if (!state.comparing) {
    return;
  }
  const [a, b] = views;
  const { comparable, shapes, largest, row, column, different } = difference(a, b);
  const total = a.rows.length * a.rows[0].length;
  if (!comparable) {
    tell("difference", `A has ${shapes[0]} numbers and B ${shapes[1]}: they cannot be compared.`);
  } else if (largest === 0) {
    tell("difference", `A and B are equal in all ${total} numbers.`);
  } else {
    const values = [a, b].map(({ rows }) => brief(rows[row][column]));
    tell(
      "difference",
      `A and B differ in ${different} of ${total} numbers. The largest difference ` +
        `is ${brief(largest)}, at ${placeOf(a, row, column)}: ${values[0]} in A, ${values[1]} in B.`,
    );
  }
}

function tellPasted() {
  const text = at("paste").value;
  const pasted = parse(text);
  if (!pasted || pasted.rows[0].length < 2) {
    const asked = text.trim() ? "These are not two numbers or more, in rows of one length." : "";
    at("found").replaceChildren(asked);
    return;
  }
  const { matches, nearest } = identify(pasted, schemes, calls);
  const size = `${pasted.rows.length} × ${pasted.rows[0].length} numbers. `;
  if (matches.length) {
    const alike = matches.length > 1 ? "These calls all give them:" : "One call gives them:";
    at("found").replaceChildren(
      element("p", {}, size + alike),
      element("ul", {}, ...matches.map((match) => element("li", {}, ...described(match)))),
    );
    return;
  }
  const off = nearest
    ? ["The nearest is ", ...described(nearest), "."]
    : ["No call that is looked at gives rows of this shape."];
  at("found").replaceChildren(
    element("p", {}, `${size}Nothing that this page knows gives them. `, ...off),
  );
}

/** A match in words, with a link to the page of its scheme. */
function described({ scheme, call, combination, where, mistake, residual, others }) {
  const link = element(
    "a",
    { href: new URL(`../../schemes/${scheme.id}/`, import.meta.url).href },
    scheme.title,
  );
  return [
    link,
    `: ${call}, ${combination}, ${where}`,
    mistake ? `, but with ${mistake}` : "",
    `; off by at most ${brief(residual, 2)}`,
    others ? ` (and ${others} more of other bases, positions or sizes)` : "",
  ];
}

function tellGoldens() {
  const { checked, wrong } = check(schemes, calls);
  tell(
    "goldens",
    wrong.length
      ? `Your browser computes ${wrong.length} of the specification's ${checked} goldens wrongly: ` +
          `${wrong.join("; ")}.`
      : `Your browser has just reproduced all ${checked} goldens that the specification has for the ` +
          "calls on this page.",
  );
  at("tool").ariaBusy = "false";
}

function tell(id, text) {
  if (at(id).textContent !== text) {
    at(id).textContent = text;
  }
}
