/** Parser of numbers in pasted text. */
import { range } from "./evaluate.js";

/**
 * A number outside words (so not the 32 of float32); or, for masks, minus infinity or a boolean.
 */
const NUMBER =
  /(?<![\w.])(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|-inf(?:inity)?|true|false)(?!\w|\.\w)/gi;

/** A complex number as Python and PyTorch print it. */
const COMPLEX =
  /([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([-+])\s*((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[ij]\b/g;

/** Anything that begins like a number, with the letters after it. */
const BEGUN = /(?<![\w.])[-+]?\.?\d[\w.]*(?:(?<=e)[-+]\d+)?/gi;

/** Largest counts of characters and numbers to read. */
const LONGEST = 2 ** 19;
const MOST = 2 ** 14;
const ELSEWHERE = "Paste fewer rows, or give a file to posenc identify.";

/** Patterns that must not be skipped, or the rest would pass for the whole; and their messages. */
const ODD = [
  [/\d{400}/, () => "A number has more than 400 digits."],
  [/(?<![\w.])nan(?![\w.])/i, () => "NaN is among the numbers, which no encoding gives."],
  [/(?<![\w.-])inf(?:inity)?(?![\w.])/i, () => "Infinity is among the numbers; only a mask's −inf is read."],
];

/**
 * Why a text is refused; empty if it is read. Nothing odd is skipped silently.
 * @param {string} pasted
 * @returns {string}
 */
export function refused(pasted) {
  if (pasted.length > LONGEST) {
    return `More than ${LONGEST.toLocaleString("en")} characters are not read. ${ELSEWHERE}`;
  }
  if (isLeftOutElsewhere(pasted)) {
    return "Values are left out (…) elsewhere than once within a row. Print all of them.";
  }
  const odd = ODD.find(([pattern]) => pattern.test(pasted));
  if (odd) {
    return odd[1]();
  }
  const begun = pasted.match(BEGUN) ?? [];
  if (begun.length > MOST) {
    return `More than ${MOST.toLocaleString("en")} numbers are not read. ${ELSEWHERE}`;
  }
  const wrong = begun.find((each) => !isNumber(each.replace(/(?<=[\d.])[ij]$|\.$/, "")));
  if (wrong) {
    const start = wrong.length > 40 ? `${wrong.slice(0, 40)}…` : wrong;
    return `${start} is no number that is read. Write numbers as 0.5, -2 or 1e-7, with blanks or commas between them.`;
  }
  return "";
}

/** Whether the text has more than one ellipsis, or one at an end. */
function isLeftOutElsewhere(/** @type {string} */ pasted) {
  const parts = pasted.split(/\.\.\.|…/);
  return parts.length > 2 || (parts.length === 2 && !parts.every((part) => /\d/.test(part)));
}

const isNumber = (/** @type {string} */ text) => text.trim() !== "" && Number.isFinite(decimal(text));

/** The value of a decimal number; NaN for others that Number reads, such as 0x1F. */
const decimal = (/** @type {string} */ text) => (/^[-+.\de]+$/i.test(text) ? Number(text) : NaN);

/**
 * @typedef {{rows: number[][], units: number[][], complex: boolean, leftOut: number}} Pasted
 *   leftOut counts the numbers before the ellipsis of a single row; units are those of the last
 *   printed place, and so the largest error of printing
 */

/**
 * The rows of a text: the contents of the innermost brackets, or else its lines. Lines of one
 * number each, or of different lengths, make a single row.
 * @param {string} pasted
 * @returns {Pasted | null} null if there are no numbers, or rows of different lengths
 */
export function parse(pasted) {
  pasted = pasted.replace(/[^\S\n]+/g, " ").replace(/\n(?: ?\n)+/g, "\n");
  const complex = pasted.search(COMPLEX) >= 0;
  const parts = (/** @type {string} */ _, re, sign, im) => ` ${re}, ${sign === "-" ? "-" : ""}${im} `;
  const separate = complex ? pasted.replace(COMPLEX, parts) : pasted;
  const text = complex ? separate.replace(/\(([^()]*)\)/g, "$1") : separate;
  const bracketed = [...text.matchAll(/[[({]([^[\](){}]*)[\])}]/g)].map((match) => match[1]);
  const pieces = (bracketed.length ? bracketed : text.split("\n"))
    .map((piece) => (piece.match(NUMBER) ?? []).map(digits))
    .filter((numbers) => numbers.length);
  if (!pieces.length) {
    return null;
  }
  const gaps = [...text.matchAll(/\.\.\.|…/g)];
  const [before, after] = text.split(/\.\.\.|…/).map((part) => (part.match(NUMBER) ?? []).length);
  if (gaps.length > 1 || (gaps.length && (pieces.length > 1 || !before || !after))) {
    return null;
  }
  const width = pieces[0].length;
  const even = pieces.every((numbers) => numbers.length === width);
  if (!even && bracketed.length) {
    return null;
  }
  const rows = even && width > 1 ? pieces : [pieces.flat()];
  const printed = width === 2 ? joined(text, rows) : rows;
  // Printing drops trailing zeros: 0.5 among numbers of eight decimals has eight, too.
  const most = Math.max(...printed.flat().filter(isPlain).map(decimals), 0);
  const longest = Math.max(...printed.flat().map(significant), 0);
  // Integers are exact. Others are printed with `most` decimals, or with `longest` digits.
  const unit = (/** @type {string} */ text) =>
    most === 0 ? 0 : Math.max(10 ** -most, 10 ** (1 + magnitude(value(text)) - longest));
  return {
    complex,
    leftOut: gaps.length ? before : 0,
    rows: printed.map((row) => row.map(value)),
    units: printed.map((row) => row.map((each) => (isPlain(each) ? unit(each) : ownUnit(each)))),
  };
}

/** Rows of a three-axis array whose last axis holds pairs: one for each index of the first axis. */
function joined(text, rows) {
  const groups = text.split(/\][\s,]*\]/).length - 1;
  const size = rows.length / groups;
  return groups > 1 && Number.isInteger(size) && size > 1
    ? range(0, groups).map((group) => rows.slice(group * size, (group + 1) * size).flat())
    : rows;
}

const ownUnit = (/** @type {string} */ text) =>
  10 ** (Number(text.split(/e/i)[1]) - decimals(text));

const significant = (/** @type {string} */ text) =>
  text.replace(/e.*|[-+.]/gi, "").replace(/^0+/, "").length;

/** The decimal exponent of a number; of 0, one that is too low to count. */
const magnitude = (/** @type {number} */ number) =>
  number ? Math.floor(Math.log10(Math.abs(number))) : -99;

const isPlain = (/** @type {string} */ text) => !/e/i.test(text);

const decimals = (/** @type {string} */ text) => /\.(\d*)/.exec(text)?.[1].length ?? 0;

const value = (/** @type {string} */ text) => (/inf/i.test(text) ? -Infinity : Number(text));

/** Booleans as numbers. */
const digits = (/** @type {string} */ text) =>
  text.replace(/^true$/i, "1").replace(/^false$/i, "0");
