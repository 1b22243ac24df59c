/** Keys that a query sees directly, and those that it reaches through several layers. */

const TOKENS = 24;

/** @param {{window: number, layers: number}} settings */
export function shown({ window, layers }) {
  const some = Array.from({ length: TOKENS }, (_, token) => token);
  const sees = some.map((query) => some.map((key) => query - window < key && key <= query));
  let reached = sees;
  for (let layer = 1; layer < layers; layer++) {
    const before = reached;
    reached = sees.map((row) => some.map((key) => row.some((seen, via) => seen && before[via][key])));
  }
  const last = (mask) => mask[TOKENS - 1].filter(Boolean).length;
  return {
    strokes: { reached: boxes(reached), seen: boxes(sees) },
    said:
      `The last query sees ${last(sees)} of ${TOKENS} keys. After ${layers} ` +
      `${layers === 1 ? "layer" : "layers"} it can know of ${last(reached)}.`,
  };
}

/** One box for each row, as the keys of a causal window are adjacent. */
const boxes = (mask) =>
  mask.map((row, query) => [
    [row.indexOf(true), query],
    [row.lastIndexOf(true) + 1, query + 1],
  ]);
