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
  if (/\.\.\.|…/.test(pasted) && piecesOf(separated(pasted).text) === null) {
    return "Values are left out (…) elsewhere than once within each row, and once between rows. Print all of them.";
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

const isNumber = (/** @type {string} */ text) => text.trim() !== "" && Number.isFinite(decimal(text));

/** The value of a decimal number; NaN for others that Number reads, such as 0x1F. */
const decimal = (/** @type {string} */ text) => (/^[-+.\de]+$/i.test(text) ? Number(text) : NaN);

/**
 * @typedef {{rows: number[][], units: number[][]}} Rows
 *   units are those of the last printed place, and so the largest error of printing
 * @typedef {Rows & {complex: boolean, leftOut: number, after: Rows | null}} Pasted
 *   leftOut counts the numbers before the ellipsis of each row; after are rows behind one between rows
 */

/**
 * The rows of a text: the contents of the innermost brackets, or else its lines. Lines of one
 * number each, or of different lengths, make a single row.
 * @param {string} pasted
 * @returns {Pasted | null} null if there are no numbers, or rows of different lengths
 */
export function parse(pasted) {
  const { text, complex } = separated(pasted);
  const found = piecesOf(text);
  if (!found?.pieces.length) {
    return null;
  }
  const { pieces, before, bracketed, cut } = found;
  const width = pieces[0].length;
  const even = pieces.every((numbers) => numbers.length === width);
  if (!even && (bracketed || before || cut)) {
    return null;
  }
  const rows = even && width > 1 ? pieces : [pieces.flat()];
  const printed = width === 2 && !before && !cut ? joined(text, rows) : rows;
  const units = unitsOf(printed);
  const numbers = printed.map((row) => row.map(value));
  const split = cut && width > 1 ? cut : printed.length;
  return {
    complex,
    leftOut: before,
    rows: numbers.slice(0, split),
    units: units.slice(0, split),
    after: split < printed.length ? { rows: numbers.slice(split), units: units.slice(split) } : null,
  };
}

/** The text with single blanks, and complex numbers as two numbers. */
function separated(pasted) {
  const plain = pasted
    .replace(SHAPE, "")
   .replace(/[^\S\n]+/g, " ").replace(/\n(?: ?\n)+/g, "\n");
  if (plain.search(COMPLEX) < 0) {
    return { text: plain, complex: false };
  }
  const parts = (/** @type {string} */ _, re, sign, im) => ` ${re}, ${sign === "-" ? "-" : ""}${im} `;
  return { text: plain.replace(COMPLEX, parts).replace(/\(([^()]*)\)/g, "$1"), complex: true };
}

/** What NumPy and PyTorch print of the shape of an array. */
const SHAPE = /\bshape=\([\d, ]*\)|\btorch\.Size\(\[[\d, ]*\]\)/g;
const GAP = /\.\.\.|…/;
const INNERMOST = /[[({]([^[\](){}]*)[\])}]/g;

/**
 * The numbers of each row, how many stand before its ellipsis, and how many rows before one between
 * rows. Null if an ellipsis is elsewhere.
 */
function piecesOf(text) {
  const inner = [...text.matchAll(INNERMOST)].map(([, piece]) => piece);
  const bracketed = inner.some((piece) => numbersOf(piece).length);
  const lines = bracketed ? linesOf(text) : text.split("\n");
  const isGap = (/** @type {string} */ line) => GAP.test(line) && !numbersOf(line).length;
  const cuts = lines.flatMap((line, i) => (isGap(line) ? [i] : []));
  const kept = lines.map(numbersOf);
  const before = lines.filter((line) => numbersOf(line).length).map(beforeGap);
  const cut = cuts.length ? kept.slice(0, cuts[0]).filter((each) => each.length).length : 0;
  const pieces = kept.filter((each) => each.length);
  const odd =
    cuts.length > 1 ||
    (cuts.length && !(cut && cut < pieces.length)) ||
    before.some((each) => Number.isNaN(each) || each !== before[0]);
  return odd ? null : { pieces, before: before[0] ?? 0, bracketed, cut };
}

/** The innermost brackets' contents, and what stands between them if it leaves rows out. */
function linesOf(text) {
  const lines = [];
  let end = 0;
  for (const match of text.matchAll(INNERMOST)) {
    const between = text.slice(end, match.index);
    lines.push(...(GAP.test(between) ? ["..."] : []), match[1]);
    end = match.index + match[0].length;
  }
  return [...lines, ...(GAP.test(text.slice(end)) ? ["..."] : [])];
}

const numbersOf = (/** @type {string} */ piece) => (piece.match(NUMBER) ?? []).map(digits);

/** How many numbers stand before the ellipsis; 0 without one, NaN if it is not between numbers. */
function beforeGap(piece) {
  const parts = piece.split(GAP).map((part) => numbersOf(part).length);
  return parts.length === 1 ? 0 : parts.length === 2 && parts[0] && parts[1] ? parts[0] : NaN;
}

/** The largest error of printing each number. */
function unitsOf(printed) {
  // Printing drops trailing zeros: 0.5 among numbers of eight decimals has eight, too.
  const most = Math.max(...printed.flat().filter(isPlain).map(decimals), 0);
  const longest = Math.max(...printed.flat().map(significant), 0);
  // Integers are exact. Others are printed with `most` decimals, or with `longest` digits.
  const unit = (/** @type {string} */ text) =>
    most === 0 ? 0 : Math.max(10 ** -most, 10 ** (1 + magnitude(value(text)) - longest));
  return printed.map((row) => row.map((each) => (isPlain(each) ? unit(each) : ownUnit(each))));
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
