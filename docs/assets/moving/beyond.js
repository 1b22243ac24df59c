/** The measured accuracy of small models up to a position, by their encoding. */

const BIN = 10;

/**
 * @param {{position: number, task: string}} settings
 * @param {Record<string, Record<string, number[]>>} measured accuracies of each bin, by task and
 *   scheme
 */
export function shown({ position, task }, measured) {
  const count = position / BIN;
  const curves = Object.entries(measured[task]).map(([scheme, accuracies]) => [
    scheme,
    accuracies.slice(0, count).map((each, n) => [BIN * n + 5.5, each]),
  ]);
  const ends = curves.map(([, curve]) => curve[curve.length - 1]);
  const words = curves.map(([scheme], n) => `${scheme} ${Math.round(100 * ends[n][1])}\u00a0%`);
  const where = position > 100 ? "never seen in training" : "as in training";
  return {
    strokes: {
      ...Object.fromEntries(curves.map(([scheme, curve]) => [scheme, [curve]])),
      now: ends.map((end) => [end]),
    },
    said: `Positions ${position - 9} to ${position}, ${where}: ${words.join(", ")}.`,
  };
}
