/**
 * Answers of the explorer to pasted texts: {"modules", "schemes", "models", "texts"} as JSON on
 * standard input, a list of {"told", "matches", "nearest", "seconds"} on standard output; for a text
 * that is refused {"refused", "seconds"}, and null for text without rows. Seconds are processor time.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { modules, schemes, models, texts } = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(pathToFileURL(`${modules}/${name}.js`).href);
const [{ explanations }, { parse, refused }, calls] = await Promise.all(
  ["answer", "paste", "schemes/index"].map(load),
);

const shown = ({ call, combination, where, mistake, residual, scheme }) => ({
  call,
  combination,
  where,
  mistake,
  residual,
  scheme: scheme.id,
});
const answers = texts.map((text) => {
  const begun = process.cpuUsage();
  const why = refused(text);
  if (why) {
    return { refused: why, seconds: process.cpuUsage(begun).user / 1e6 };
  }
  const pasted = parse(text);
  if (pasted === null) {
    return null;
  }
  const { told, matches, nearest } = explanations(pasted, { schemes, models }, calls);
  return {
    told,
    matches: matches.map(shown),
    nearest: nearest && shown(nearest),
    seconds: process.cpuUsage(begun).user / 1e6,
  };
});
process.stdout.write(JSON.stringify(answers));
