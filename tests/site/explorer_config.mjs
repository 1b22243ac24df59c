/**
 * What the page reads in configurations: {"modules", "known", "configs"} as JSON on standard input, a
 * list of what `readConfig` returns on standard output.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { modules, known, configs } = JSON.parse(readFileSync(0, "utf8"));
const { readConfig } = await import(pathToFileURL(`${modules}/config.js`).href);
process.stdout.write(JSON.stringify(configs.map((config) => readConfig(config, known))));
