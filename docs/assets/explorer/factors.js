/** What frequencies are divided by: the tensor `rope_freqs` of GGUF files, and LongRoPE's lists. */
import { FLOAT32 } from "./dtypes.js";
import { shown } from "./rules.js";
import { rotaryFrequencies } from "./waves.js";

const LEAST = 8;
const WORDS = {
  llama3: "the tensor rope_freqs of a GGUF file",
  longrope: "a list of divisors of LongRoPE, short_factor or long_factor",
};

/**
 * @param {import("./paste.js").Pasted} pasted
 * @param {any[]} models entries of models.json
 * @returns {{what: string, scheme: string, models: string[]}[]}
 */
export function factors({ rows, units, leftOut }, models) {
  const row = rows.length === 1 || rows[0].length > 1 ? rows[0] : rows.flat();
  if (rows.length > 1 || leftOut || row.length < LEAST || !row.every((value) => value >= 0.99)) {
    return [];
  }
  return models
    .filter(({ scheme, frequencies }) => scheme in WORDS && frequencies.length === row.length)
    .filter(({ base, frequencies }) => {
      const plain = rotaryFrequencies(2 * row.length, base);
      return row.every((value, t) => {
        const wanted = plain[t] / frequencies[t];
        return Math.abs(value - wanted) <= 1.0001 * units[0][t] + 16 * FLOAT32 * wanted;
      });
    })
    .map(({ scheme, base, words, models: names }) => ({
      what: `what each of ${row.length} frequencies of base ${shown(base)} is divided by: ${WORDS[scheme]}${words}`,
      scheme,
      models: names,
    }));
}
