/** Whether a wave that fits some numbers at a position does so by chance. */

/** About how many lists and arrangements are tried at each position, as a power of two. */
const TRIED = 9;
/** Positions within which a pair must turn to say something. */
const TURNING = 4096;

/** The bits that a cosine or sine says of its angle, if it is known up to an error. */
const information = (value, error) => {
  const slope = Math.sqrt(Math.max(1 - value * value, 0)) + Math.sqrt(error);
  return Math.max(-Math.log2((2 * error) / (Math.PI * slope)), 0);
};

/** The bits of the waves of some pairs; one that hardly turns says nothing. */
export const informationOf = (values, errors, frequencies) =>
  values.reduce((sum, value, t) => sum + (frequencies[t] * TURNING > 2 * Math.PI ? information(value, errors[t]) : 0), 0);

/** Whether so many bits name a position, of all up to it. */
export const exceedsChance = (bits, place) => bits > Math.log2(place + 2) + TRIED;
