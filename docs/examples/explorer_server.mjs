/**
 * Answers calls of the explorer's JavaScript, one to a line: {"call", "arguments", "options"} in,
 * {"result"} or {"error"} out. `node explorer_server.mjs FOLDER` takes the modules in FOLDER.
 */
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const calls = await import(pathToFileURL(`${folder}/schemes/index.js`).href);

/** JSON has no infinities; Python's float() reads their names. */
const named = (_key, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;

function answer(line) {
  const question = JSON.parse(line);
  if (question.call === null) {
    return { result: Object.keys(calls) };
  }
  try {
    return { result: calls[question.call](...question.arguments, question.options) };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(line), named)}\n`);
}
