/**
 * Relative position bias of T5.
 * Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 * Transformer", section 2.1, and its released code.
 */
import { choice, lengths, whole } from "../../arguments.js";

/**
 * The bucket of each distance. N buckets serve one side: all of them when causal, half of them when
 * bidirectional. The first E = floor(N/2) hold one distance each, the widths of the others grow
 * geometrically.
 * @param {any} relative_position key position minus query position: a number, or lists of them
 * @param {object} [options]
 * @returns {any} whole numbers in the same shape
 */
export function t5_bucket(
  relative_position,
  { direction = "bidirectional", num_buckets = 32, max_distance = 128 } = {},
) {
  choice("direction", direction, ["bidirectional", "causal"]);
  const twoSided = direction === "bidirectional";
  whole("num_buckets", num_buckets, twoSided ? 4 : 2);
  if (twoSided && num_buckets % 2) {
    throw new RangeError(`num_buckets is ${num_buckets}; two directions need an even number`);
  }
  const side = twoSided ? num_buckets / 2 : num_buckets;
  whole("max_distance", max_distance, Math.floor(side / 2) + 1);
  const starts = firstDistances(side, max_distance);
  const bucket = (relative) => {
    if (Array.isArray(relative)) {
      return relative.map(bucket);
    }
    whole("relative_position", relative);
    const distance = twoSided ? Math.abs(relative) : Math.max(-relative, 0);
    const within = starts.findLastIndex((start) => start <= distance);
    return twoSided && relative > 0 ? within + side : within;
  };
  return bucket(relative_position);
}

/**
 * The least distance in each bucket of one side. Bucket E + k begins at the least n with
 * n^(N-E) E^k >= max_distance^k E^(N-E): the paper's logarithm, in integers. With Math.log a
 * distance exactly on a border may fall on either side of it.
 */
function firstDistances(side, max_distance) {
  const exact = Math.floor(side / 2);
  const wide = BigInt(side - exact);
  const starts = Array.from({ length: exact + 1 }, (_, distance) => distance);
  for (let k = 1n; k < wide; k++) {
    const bound = BigInt(max_distance) ** k * BigInt(exact) ** wide;
    let [below, reached] = [0, max_distance];
    while (reached - below > 1) {
      const middle = Math.floor((below + reached) / 2);
      if (BigInt(middle) ** wide * BigInt(exact) ** k >= bound) {
        reached = middle;
      } else {
        below = middle;
      }
    }
    starts.push(reached);
  }
  return starts;
}

/**
 * The bias added to the attention logits, which T5 does not divide by sqrt(head_dim). Query number
 * i is at position k_len - q_len + i, key j at position j.
 * @param {number[][]} table [num_buckets, heads], the learned biases
 * @param {number} q_len
 * @param {number} k_len
 * @param {object} [options]
 * @returns {number[][][]} [heads, q_len, k_len]
 */
export function t5_bias(
  table,
  q_len,
  k_len,
  { direction = "bidirectional", max_distance = 128 } = {},
) {
  lengths(q_len, k_len);
  const relative = Array.from({ length: q_len }, (_, query) =>
    Array.from({ length: k_len }, (_, key) => key - (k_len - q_len + query)),
  );
  const buckets = t5_bucket(relative, { direction, num_buckets: table.length, max_distance });
  return table[0].map((_, head) => buckets.map((row) => row.map((bucket) => table[bucket][head])));
}
