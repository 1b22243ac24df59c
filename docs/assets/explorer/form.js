/** The fields of a setting. */
import { element } from "./elements.js";
import { callsOf, combinationsOf, combined, fieldsOf, initialSetting } from "./settings.js";

/**
 * Fill a fieldset with the fields of a setting. `changed` is called with every new setting.
 * @param {HTMLFieldSetElement} fieldset
 * @param {import("./settings.js").Setting} setting
 * @param {any[]} schemes
 * @param {Record<string, Function>} calls
 * @param {(setting: import("./settings.js").Setting) => void} changed
 */
export function fillForm(fieldset, setting, schemes, calls, changed) {
  const { scheme, call, values } = setting;
  const prefix = fieldset.id;
  const again = (
    /** @type {import("./settings.js").Setting} */ other,
    /** @type {string} */ name,
  ) => {
    fillForm(fieldset, other, schemes, calls, changed);
    /** @type {HTMLElement} */ (fieldset.querySelector(`[name="${name}"]`)).focus();
    changed(other);
  };
  const choose = (name, label, choices, chosen, act, description) =>
    field(prefix, name, label, select(choices, chosen, act), description);
  const known = combinationsOf(setting);
  const itsCalls = callsOf(scheme, calls);
  const { combinations } = scheme.calls[call];
  const named = Object.entries(combinations).map(([name]) => [name, name]);
  const own = known.length ? [] : [["", "none of these"]];
  const parts = [
    choose(
      "scheme",
      "Scheme",
      schemes.map(({ id, title }) => [id, `${title} (${id})`]),
      scheme.id,
      (id) => {
        const other = schemes.find((each) => each.id === id);
        again(initialSetting(other, callsOf(other, calls)[0]), "scheme");
      },
      scheme.summary,
    ),
    ...(itsCalls.length > 1
      ? [
          choose(
            "call",
            "Call",
            itsCalls.map((name) => [name, name]),
            call,
            (name) => again(initialSetting(scheme, name), "call"),
            "",
          ),
        ]
      : []),
    choose(
      "combination",
      "Combination",
      [...own, ...named],
      known[0] ?? "",
      (name) => name && again(combined(setting, name), "combination"),
      known.length
        ? `Used by: ${combinations[known[0]].used_by}.`
        : "The specification has no name for these conventions together.",
    ),
  ];
  for (const each of fieldsOf(scheme, call)) {
    const { name, kind, description, choices } = each;
    const store = (/** @type {string} */ value) => ({
      ...setting,
      values: { ...values, [name]: value },
    });
    if (kind === "choice") {
      const shown = choices.map(({ value }) => [String(value), value === "" ? "—" : String(value)]);
      const meaning = choices.find(({ value }) => String(value) === values[name]);
      parts.push(
        choose(
          name,
          name,
          shown,
          values[name],
          (value) => again(store(value), name),
          `${description} ${meaning?.description ?? ""}`,
        ),
      );
    } else {
      const input = element("input", {
        type: "text",
        inputMode: kind === "list" ? "text" : "decimal",
        value: values[name],
        autocomplete: "off",
        spellcheck: false,
      });
      input.addEventListener("input", () => {
        values[name] = input.value;
        changed(setting);
      });
      parts.push(field(prefix, name, name, input, description));
    }
  }
  const [legend] = fieldset.children;
  fieldset.replaceChildren(legend, ...parts);
}

function select(choices, chosen, act) {
  const made = element(
    "select",
    {},
    ...choices.map(([value, shown]) => element("option", { value }, shown)),
  );
  made.value = chosen;
  made.addEventListener("change", () => act(made.value));
  return made;
}

/** A control with its label and description. */
export function field(prefix, name, label, control, description) {
  const id = `${prefix}-${name}`;
  Object.assign(control, { id, name });
  const words = element("small", { id: `${id}-words` }, description);
  if (description) {
    control.setAttribute("aria-describedby", words.id);
  }
  const wide = ["scheme", "call", "combination"].includes(name) ? " explorer-whole" : "";
  return element(
    "div",
    { className: `explorer-field${wide}` },
    element("label", { htmlFor: id }, label),
    control,
    words,
  );
}
