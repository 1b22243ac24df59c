/** The explorer's page: its settings, its views, and the address that stores them. */
import { curves, heatMap } from "./drawings.js";
import { brief, element } from "./elements.js";
import { difference, evaluate } from "./evaluate.js";
import { fillForm } from "./form.js";
import { check } from "./goldens.js";
import * as calls from "./schemes/index.js";
import { combinationsOf, fromAddress, notUnderstood, toAddress } from "./settings.js";

/** Size of the table of numbers. */
const TABLE = { rows: 8, columns: 8 };
const PREFIX = { a: "", b: "b." };

const at = (/** @type {string} */ id) =>
  /** @type {any} */ (document.getElementById(`explorer-${id}`));

const fetched = async (/** @type {string} */ name) =>
  (await fetch(new URL(name, import.meta.url))).json();
/** @type {{schemes: any[]}} */
const { schemes } = await fetched("schemes.json");

/** The state of the page; `settings.b` is shown if `comparing`. */
const state = readAddress();

start();

function readAddress() {
  // A hash without "=" is the anchor of a heading.
  const address = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const whole = (/** @type {string} */ name) =>
    Math.max(Math.trunc(Number(address.get(name))) || 0, 0);
  const a = fromAddress(address, PREFIX.a, schemes, calls);
  const comparing = address.has("b.scheme");
  const b = fromAddress(address, comparing ? PREFIX.b : PREFIX.a, schemes, calls);
  const unknown = notUnderstood(address, {
    [PREFIX.a]: a,
    ...(comparing && { [PREFIX.b]: b }),
  });
  return { settings: { a, b }, comparing, unknown, row: whole("row"), column: whole("column") };
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
    if (location.hash.includes("=")) {
      Object.assign(state, readAddress());
      fillForms();
      show();
      tellUnknown();
    }
  });
  new MutationObserver(show).observe(document.body, {
    attributes: true,
    attributeFilter: ["data-md-color-scheme"],
  });
  show();
  tellUnknown();
  at("tool").hidden = false;
  at("tool").ariaBusy = "false";
  whenNear(at("goldens"), tellGoldens);
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
  tell("unknown", "");
}

/** Name the ignored parts of the address, as the picture may differ from the linked one. */
function tellUnknown() {
  tell(
    "unknown",
    state.unknown.length
      ? `This page does not know what the address says with ${state.unknown.join(", ")}; ` +
          "what it begins with is shown instead."
      : "",
  );
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
  tell(
    "selected-value",
    views
      .map((view) => {
        const { row, column } = within(view);
        return `${placeOf(view, row, column)}: ${brief(view.rows[row][column])}`;
      })
      .join("; "),
  );
  at("maps").replaceChildren(...each((view, selected) => heatMap(view, selected, select)));
  at("tables").replaceChildren(...each(table));
  at("curve").replaceChildren(curveOf(views, within));
  at("numbers").replaceChildren(...each(numbers));
  tellDifference(views);
}

/** The name of a cell, by its row and column. */
function placeOf({ rowAxis, columnAxis, rowNames, columnNames }, row, column) {
  const place = `${columnAxis} ${columnNames[column]}`;
  return rowAxis ? `${rowAxis} ${rowNames[row]}, ${place}` : place;
}

/** The numbers from the selected cell on, as many as fit on a phone. */
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

/** One channel over positions, or all numbers of a single row. */
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

/** The numbers of the selected row, to read or copy. */
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

/** Module and data of the identification, fetched when something is pasted. */
const identification = { needed: null };

async function tellPasted() {
  const text = at("paste").value;
  identification.needed ??= Promise.all([import("./answer.js"), fetched("models.json")]);
  const [{ answerTo }, models] = await identification.needed;
  const said = await answerTo(text, { schemes, models }, calls);
  if (text === at("paste").value) {
    at("found").replaceChildren(...said);
  }
}

async function tellGoldens() {
  const { checked, wrong } = await check(schemes, calls);
  tell(
    "goldens",
    wrong.length
      ? `Your browser computes ${wrong.length} of the specification's ${checked} goldens wrongly: ` +
          `${wrong.join("; ")}.`
      : `Your browser has just reproduced all ${checked} goldens that the specification has for the ` +
          "calls on this page.",
  );
}

/** Call `act` when the reader scrolls near `place`. */
function whenNear(place, act) {
  const near = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        near.disconnect();
        act();
      }
    },
    { rootMargin: "200px" },
  );
  near.observe(place);
}

function tell(id, text) {
  if (at(id).textContent !== text) {
    at(id).textContent = text;
  }
}
