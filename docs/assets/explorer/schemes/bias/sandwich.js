/**
 * Sandwich: the dot product of sinusoids as a bias.
 * Source: Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive
 * Field Analysis", as released in NeMo and attention-gym.
 */
import { choice, even, lengths, whole } from "../../arguments.js";
import { progression } from "../../waves.js";

/**
 * The bias added to the attention logits: a sum of dim/2 cosines of the distance, which head
 * n = 1 … heads divides by 8n / heads.
 * @param {number} heads
 * @param {number} q_len
 * @param {number} k_len
 * @param {{dim: number, exponents?: string, own_key?: string}} options
 * @returns {number[][][]} [heads, q_len, k_len], without a mask
 */
export function sandwich_bias(
  heads,
  q_len,
  k_len,
  { dim, exponents = "from-1", own_key = "zero" },
) {
  whole("heads", heads, 1);
  lengths(q_len, k_len);
  even("dim", dim);
  choice("exponents", exponents, ["from-1", "from-0"]);
  choice("own_key", own_key, ["zero", "largest"]);
  const first = exponents === "from-1" ? 1 : 0;
  const frequencies = progression(10000, 2 / dim, dim / 2 + first).slice(first);
  const sums = Array.from({ length: k_len }, (_, distance) =>
    frequencies.reduce((sum, w) => sum + Math.cos(distance * w), 0),
  ).map((sum) => (own_key === "zero" ? sum - dim / 2 : sum));
  return Array.from({ length: heads }, (_, head) =>
    Array.from({ length: q_len }, (_, query) =>
      Array.from(
        { length: k_len },
        (_, key) => (sums[Math.abs(k_len - q_len + query - key)] * heads) / (8 * (head + 1)),
      ),
    ),
  );
}
