// node rope.js rope.float32.json
const { readFileSync } = require("node:fs");

// Ours, which is judged: pairs of channels t and t + dim / 2, all in float32.
function rope(x, positions, base) {
  const dim = x.shape.at(-1);
  const given = Float32Array.from(x.values);
  const out = new Float32Array(given.length);
  for (let row = 0; row < out.length / dim; row++) {
    for (let t = 0; t < dim / 2; t++) {
      const [first, second] = [row * dim + t, row * dim + t + dim / 2];
      const position = positions.values[row % positions.values.length];
      const angle = Math.fround(position * Math.fround(base ** ((-2 * t) / dim)));
      out[first] = given[first] * Math.cos(angle) - given[second] * Math.sin(angle);
      out[second] = given[second] * Math.cos(angle) + given[first] * Math.sin(angle);
    }
  }
  return out;
}

const { cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let [judged, wrong] = [0, 0];
for (const { id, call, conventions, arguments: given, elements } of cases) {
  if (call !== "rope" || conventions.layout !== "half" || "rotation" in conventions) continue;
  const got = rope(given.x, given.positions, given.base);
  for (const [index, expected, allowed] of elements) {
    judged++;
    if (!(Math.abs(got[index] - expected) <= allowed)) {
      console.log(`${id}: element ${index} is ${got[index]}; expected ${expected} ± ${allowed}`);
      wrong++;
    }
  }
}
console.log(`${judged} elements judged, ${wrong} wrong`);
process.exitCode = judged === 0 || wrong > 0 ? 1 : 0;
