/**
 * YaRN.
 * Source: Peng, Quesnelle, Fan and Shippole 2023, "YaRN: Efficient Context Window Extension of Large
 * Language Models", definitions 2 and 3, equations 17 to 22; for "index" the code of its authors.
 */
import { above, atLeast, choice, even, whole } from "../../arguments.js";
import { clipped, rotaryFrequencies, turns } from "../../waves.js";

/**
 * Frequencies: fast pairs as in rotary embedding, slow ones divided by the factor, a ramp between
 * the pairs of beta_fast and beta_slow turns within the original length. The ramp is linear in the
 * number of turns ("rotations"), or in the index t of the pair, with ends rounded outwards
 * ("index") or unrounded ("untruncated").
 * @param {number} rotary_dim rotated channels
 * @param {{base?: number, factor: number, original_max_position_embeddings: number,
 *   beta_fast?: number, beta_slow?: number, ramp?: string}} options
 * @returns {number[]} radians per position of each pair
 */
export function yarn_frequencies(
  rotary_dim,
  {
    base = 10000,
    factor,
    original_max_position_embeddings,
    beta_fast = 32,
    beta_slow = 1,
    ramp = "index",
  },
) {
  even("rotary_dim", rotary_dim);
  above("base", base, 1);
  atLeast("factor", factor, 1);
  whole("original_max_position_embeddings", original_max_position_embeddings, 1);
  above("beta_slow", beta_slow);
  above("beta_fast", beta_fast, beta_slow);
  choice("ramp", ramp, ["rotations", "index", "untruncated"]);

  const plain = rotaryFrequencies(rotary_dim, base);
  let kept;
  if (ramp === "rotations") {
    kept = turns(plain, original_max_position_embeddings).map((made) =>
      clipped((made - beta_slow) / (beta_fast - beta_slow)),
    );
  } else {
    // The (fractional) t of a pair that makes beta turns within the original length.
    const place = (/** @type {number} */ beta) =>
      (rotary_dim * Math.log(original_max_position_embeddings / (2 * Math.PI * beta))) /
      (2 * Math.log(base));
    const [low, high] = ends(place(beta_fast), place(beta_slow), rotary_dim, ramp === "index");
    kept = plain.map((_, t) => 1 - clipped((t - low) / (high - low)));
  }
  return plain.map((w, t) => w * (kept[t] + (1 - kept[t]) / factor));
}

/** Start and end of the ramp. Released code clips the end below rotary_dim, not its half. */
function ends(first, last, rotary_dim, rounded) {
  const low = Math.max(rounded ? Math.floor(first) : first, 0);
  const high = Math.min(rounded ? Math.ceil(last) : last, rotary_dim - 1);
  if (low > high) {
    throw new RangeError(
      `the ramp would begin at pair ${low} and end at ${high}: ` +
        "original_max_position_embeddings is too short or too long for this base",
    );
  }
  return [low, low === high ? high + 0.001 : high];
}
