/** Whether a wave that fits some numbers at a position does so by chance. */
import { allowed } from "./dtypes.js";

/** About how many lists and arrangements are tried at each position, as a power of two. */
const TRIED = 9;
/** Positions within which a pair must turn to say something. */
const TURNING = 4096;

/**
 * Whether the waves of some pairs say more than a search of all positions up to theirs gives by
 * chance. At a far position float32 blurs angles, and a number says less.
 * @param {{value: number, unit: number, frequency: number}[]} pairs unit is how far printing and
 *   rounding may be off
 * @param {number} place
 */
export const exceedsChance = (pairs, place, spare = 0) =>
  pairs.reduce((sum, each) => sum + information(each, place), 0) > Math.log2(place + 2) + TRIED + spare;

/** The bits that a cosine or sine says of its angle; one that hardly turns says nothing. */
function information({ value, unit, frequency }, place) {
  if (frequency * TURNING <= 2 * Math.PI) {
    return 0;
  }
  const error = allowed(unit, 1, place * frequency);
  const slope = Math.sqrt(Math.max(1 - value * value, 0)) + Math.sqrt(error);
  return Math.max(-Math.log2((2 * error) / (Math.PI * slope)), 0);
}
