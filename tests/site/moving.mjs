/**
 * Output of modules of figures: `node moving.mjs FOLDER` reads lines of
 * {module, settings, numbers, frame, limits, forms} and answers each with
 * {strokes, paths, said, names}.
 */
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${resolve(process.argv[2])}/`).href;
const { path } = await import(`${folder}path.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const { module, settings, numbers, frame, limits, forms } = JSON.parse(line);
  const { shown } = await import(`${folder}${module}.js`);
  const { strokes, said, names = {} } = shown(settings, numbers);
  const paths = Object.fromEntries(
    Object.entries(strokes).map(([name, some]) => [
      name,
      path(some, { frame, limits, form: forms[name] }),
    ]),
  );
  process.stdout.write(`${JSON.stringify({ strokes, paths, said, names })}\n`);
}
