/**
 * Buckets of distances of DeBERTa's second version.
 * Source: make_log_bucket_position in the code released with He et al. 2021, "DeBERTa".
 */
import { choice, whole } from "../../arguments.js";

/** Far above the float64 error of a logarithm of a distance, and far below its steps. */
const NEAR = 1e-9;

/**
 * The signed bucket of each distance. Distances up to mid = floor(num_buckets / 2) have one bucket
 * each; beyond, mid - 1 buckets grow geometrically up to max_relative_positions - 1.
 * @param {any} relative_position query position minus key position: a number, or lists of them
 * @param {object} [options] far: whether distances beyond the last one have the last bucket
 * @returns {any} whole numbers in the same shape
 */
export function deberta_bucket(
  relative_position,
  { far = "clamped", num_buckets = 256, max_relative_positions = 512 } = {},
) {
  choice("far", far, ["clamped", "growing"]);
  whole("num_buckets", num_buckets, 4);
  const mid = Math.floor(num_buckets / 2);
  whole("max_relative_positions", max_relative_positions, mid + 2);
  const last = max_relative_positions - 1;
  const bucket = (relative) => {
    if (Array.isArray(relative)) {
      return relative.map(bucket);
    }
    whole("relative_position", relative);
    const reached = Math.abs(relative);
    const distance = far === "clamped" ? Math.min(reached, last) : reached;
    return Math.sign(relative) * (distance <= mid ? distance : mid + beyond(distance, mid, last));
  };
  return bucket(relative_position);
}

/**
 * The least integer c with (last / mid)^c >= (distance / mid)^(mid - 1). Where the logarithm is
 * near an integer, exact integer arithmetic decides.
 */
function beyond(distance, mid, last) {
  const steps = (Math.log(distance / mid) / Math.log(last / mid)) * (mid - 1);
  const c = Math.round(steps);
  if (Math.abs(steps - c) > NEAR * c) {
    return Math.ceil(steps);
  }
  const [n, m, end, exponent] = [distance, mid, last, c].map(BigInt);
  const reached = end ** exponent * m ** (m - 1n) >= n ** (m - 1n) * m ** exponent;
  return reached ? c : c + 1;
}
