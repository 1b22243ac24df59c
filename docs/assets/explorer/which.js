/** Identification on the page of mistakes; its data are fetched when something is pasted. */
import { element } from "./elements.js";

const EXAMPLES = {
  "inv_freq of a model": "llama3",
  "its first 8 numbers": "beginning",
  "a row of a cosine cache": "cosines",
  "slopes of 12 heads": "slopes",
  "position 1 of a table": "sinusoid",
  "config.json of a model": "config",
};

const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

const needed = { loaded: null };

function load() {
  needed.loaded ??= (async () => {
    const [answers, calls, ...files] = await Promise.all([
      import("./answer.js"),
      import("./schemes/index.js"),
      ...["schemes.json", "models.json"].map(async (name) => {
        const found = await fetch(new URL(name, import.meta.url));
        return found.json();
      }),
    ]);
    const [{ schemes }, models] = files;
    return { answerTo: answers.answerTo, calls, schemes, models };
  })();
  return needed.loaded;
}

async function tell() {
  const text = at("identify-paste").value;
  const { answerTo, calls, ...known } = await load();
  const said = await answerTo(text, known, calls);
  if (text === at("identify-paste").value) {
    at("identify-found").replaceChildren(...said);
  }
}

/** The numbers of an example, computed by the same modules. */
async function example(kind) {
  if (kind === "config") {
    const known = await (await fetch(new URL("configs.json", import.meta.url))).json();
    const { config } = known.models.find(({ title }) => title === "Llama 3.1 8B");
    at("identify-paste").value = JSON.stringify(config, null, 2);
    tell();
    return;
  }
  const { calls, models } = await load();
  const print = (/** @type {number[]} */ row) => row.map((value) => value.toPrecision(7)).join(", ");
  const llama = models.find((each) => each.scheme === "llama3");
  at("identify-paste").value = print({
    llama3: () => llama.frequencies,
    beginning: () => llama.frequencies.slice(0, 8),
    cosines: () => llama.frequencies.map((w) => Math.cos(7 * w)),
    slopes: () => calls.alibi_slopes(12),
    sinusoid: () => calls.sinusoidal([1], 32)[0],
  }[kind]());
  tell();
}

at("identify-examples").append(
  ...Object.entries(EXAMPLES).map(([words, kind]) => {
    const button = element("button", { type: "button" }, words);
    button.addEventListener("click", () => example(kind));
    return button;
  }),
);
at("identify-paste").addEventListener("input", tell);
at("identify-tool").hidden = false;
