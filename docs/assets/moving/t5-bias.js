/** The bucket of each distance to a key before the query. */
import { t5_bucket } from "../explorer/schemes/bias/t5-bias.js";

const LONGEST = 260;

/** @param {{num_buckets: number, max_distance: number}} settings */
export function shown({ num_buckets, max_distance }) {
  const distances = Array.from({ length: LONGEST + 1 }, (_, distance) => distance);
  const buckets = t5_bucket(
    distances.map((each) => -each),
    { num_buckets, max_distance },
  );
  const last = num_buckets / 2 - 1;
  const stairs = distances.flatMap((each) => [
    [each, buckets[each]],
    [each + 1, buckets[each]],
  ]);
  return {
    strokes: { bucket: [stairs] },
    said:
      `${last + 1} buckets are for keys before the query. Distances below ` +
      `${Math.floor((last + 1) / 2)} have one each; all from ${buckets.indexOf(last)} on share ` +
      "the last one.",
  };
}
