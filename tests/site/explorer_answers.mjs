/**
 * The page's words on pasted texts: {"modules", "schemes", "models", "configs", "texts"} as JSON on
 * standard input, a list of texts on standard output.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { modules, schemes, models, configs, texts } = JSON.parse(readFileSync(0, "utf8"));

/** What the answer's modules need of a document. */
class Made {
  children = [];
  constructor(tag) {
    this.tag = tag;
  }
  append(...children) {
    this.children.push(...children);
  }
  get text() {
    const end = ["p", "li"].includes(this.tag) ? "\n" : "";
    return this.children.map((child) => child.text ?? child).join("") + end;
  }
}
globalThis.document = { createElement: (tag) => new Made(tag) };
globalThis.fetch = async () => ({ json: async () => configs });

const load = (name) => import(pathToFileURL(`${modules}/${name}.js`).href);
const [{ answerTo }, calls] = await Promise.all(["answer", "schemes/index"].map(load));
const said = [];
for (const text of texts) {
  const parts = await answerTo(text, { schemes, models }, calls);
  said.push(parts.map((part) => part.text ?? part).join(""));
}
process.stdout.write(JSON.stringify(said));
