/** Numbers out of pasted text. */

/** A number that is no part of a word, so that float32 is none; or minus infinity, for masks. */
const NUMBER = /(?<![\w.])(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|-inf(?:inity)?)(?![\w.])/gi;

/**
 * @typedef {{rows: number[][], units: number[][]}} Pasted
 *   units are those of the last printed place, and so the most that printing can have changed
 */

/**
 * The rows of a text: what innermost brackets hold, or else its lines. Lines of one number each, or
 * of different lengths, make a single row.
 * @param {string} text
 * @returns {Pasted | null} null if there are no numbers, or rows of different lengths
 */
export function parse(text) {
  const bracketed = [...text.matchAll(/[[({]([^[\](){}]*)[\])}]/g)].map((match) => match[1]);
  const pieces = (bracketed.length ? bracketed : text.split("\n"))
    .map((piece) => piece.match(NUMBER) ?? [])
    .filter((numbers) => numbers.length);
  if (!pieces.length) {
    return null;
  }
  const width = pieces[0].length;
  const even = pieces.every((numbers) => numbers.length === width);
  if (!even && bracketed.length) {
    return null;
  }
  const printed = even && width > 1 ? pieces : [pieces.flat()];
  // Printers drop zeros at the end: 0.5 among numbers of eight decimals has eight, too.
  const most = Math.max(...printed.flat().filter(isPlain).map(decimals), 0);
  const unit = most === 0 ? 0 : 10 ** -most; // whole numbers are exact
  return {
    rows: printed.map((row) => row.map(value)),
    units: printed.map((row) => row.map((each) => (isPlain(each) ? unit : ownUnit(each)))),
  };
}

const ownUnit = (/** @type {string} */ text) =>
  10 ** (Number(text.split(/e/i)[1]) - decimals(text));

const isPlain = (/** @type {string} */ text) => !/e/i.test(text);

const decimals = (/** @type {string} */ text) => /\.(\d*)/.exec(text)?.[1].length ?? 0;

const value = (/** @type {string} */ text) => (/inf/i.test(text) ? -Infinity : Number(text));
