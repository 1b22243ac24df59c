/**
 * What the explorer says of pasted texts: {"modules", "schemes", "texts"} as JSON on standard
 * input, a list of {"matches", "nearest"} on standard output; null for text without rows.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { modules, schemes, texts } = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(pathToFileURL(`${modules}/${name}.js`).href);
const [{ identify }, { parse }, calls] = await Promise.all(
  ["identify", "paste", "schemes/index"].map(load),
);

const told = ({ call, combination, where, mistake, residual }) => ({
  call,
  combination,
  where,
  mistake,
  residual,
});
const answers = texts.map((text) => {
  const pasted = parse(text);
  if (pasted === null) {
    return null;
  }
  const { matches, nearest } = identify(pasted, schemes, calls);
  return { matches: matches.map(told), nearest: nearest && told(nearest) };
});
process.stdout.write(JSON.stringify(answers));
