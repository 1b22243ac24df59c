/**
 * The site's search, which replaces the theme's worker and exchanges the same messages. The index
 * is fetched on the first query.
 */
const READY = 1;
const QUERY = 2;
const RESULT = 3;
/** Number of characters of a text in a result. */
const SHOWN = 220;
/** Shorter words are not stemmed. */
const STEM = 6;
/** Shorter words are not corrected. */
const CORRECTED = 5;
/** Least number of telling words of a sentence, of which not every word must be found. */
const SENTENCE = 3;
const ENDINGS = /(?:ations?|ating|ated|ates?|ings?|ions?|ed|es|e|s)$/;

/** Scores. A page whose keywords have a word precedes a page whose text happens to have it. */
const WORTH = {
  keyword: 1000, title: 600, begins: 400, holds: 200, asked: 90, named: 30, word: 40, phrase: 20,
  text: 1,
};
/** What a match on the page itself counts, compared with one in a section. */
const FIRST = 1.5;
/** A word in one page of this number has rarity 1. */
const USUAL = 10;
/** The part of its worth that a word has in a longer word. */
const LONGER = 0.2;
/** The part of the best page's worth below which a page is left out. */
const LEAST = 0.05;

/** Words for one thing. The last one stands for all of them, in pages and in queries. */
const SAME = [
  ["bf16", "bfloat16"],
  ["fp16", "float16"],
  ["fp32", "float32"],
  ["swa", "sliding window"],
  ["garbage", "gibberish", "rubbish", "nonsense"],
  ["gptneox", "gpt neox"],
  ["llama3", "llama 3"],
  ["attn", "attention"],
  ["hf", "huggingface"],
];
const MEANT = new Map(SAME.flatMap((each) => each.map((word) => [word, each.at(-1)])));
const OTHERS = new Map(SAME.map((each) => [each.at(-1), each.slice(0, -1)]));

/** Stop words. */
const IDLE = new Set(
  ("a about after all also an and any are as at be because before between but by can cannot do does " +
    "each every fix for from get gets gives has have how i if in instead into is it its just me my need no not of " +
    "off on only or other our should since so still than that the their then there they this to too up use using " +
    "vs want was we what when where which while who why will with without would you your").split(" "),
);

let index = null;

async function fetched() {
  const answer = await fetch(new URL("prose.json", location.href));
  if (!answer.ok) {
    throw new Error(`${answer.url}: ${answer.status}`);
  }
  return indexed(await answer.json());
}

/** The pages with their words, and for each word the number of pages that have it. */
function indexed(pages) {
  const vocabulary = new Map();
  const made = pages.map((page) => {
    const keywords = page.keywords.map(plain);
    const sections = page.sections.map(([anchor, title, text]) => {
      const [heading, words] = [plain(title), plain(text)];
      return { anchor, title, text, heading, words, named: counted(heading), said: counted(words) };
    });
    const listed = counted(keywords.join(" "));
    const texts = [listed, ...sections.flatMap(({ named, said }) => [named, said])];
    for (const word of new Set(texts.flatMap((each) => [...each.keys()]))) {
      vocabulary.set(word, { root: stem(word), number: (vocabulary.get(word)?.number ?? 0) + 1 });
    }
    const asked = keywords.map((each) => telling(each).map(stem));
    return { ...page, keywords, listed, sections, asked };
  });
  return { pages: made, vocabulary };
}

/** A text in comparable form: lower case, no hyphens and underscores, one word for one thing. */
function plain(text) {
  const small = text.toLowerCase().replaceAll("c++", "cpp").replace(/(?<=\d),(?=\d{3})/g, "");
  const words = small.replace(/[^\p{L}\p{N}.]+/gu, " ").trim().split(" ");
  return words.map((word) => MEANT.get(word) ?? word).join(" ");
}

/** How often each word is in a text; "llama.cpp" is three words. */
function counted(text) {
  const counts = new Map();
  const add = (word) => word && counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const each of text.split(" ")) {
    const word = each.replace(/^\.+|\.+$/g, "");
    add(word);
    if (word.includes(".")) {
      word.split(".").forEach(add);
    }
  }
  return counts;
}

/** The stem of a word. */
function stem(word) {
  return word.length < STEM ? word : word.replace(ENDINGS, "");
}

/** The distinct words of a text without stop words; all of them if there are only stop words. */
function telling(text) {
  const every = [...new Set(text.split(" "))].filter(Boolean);
  const some = every.filter((word) => !IDLE.has(word));
  return some.length ? some : every;
}

/** A word of a query: the words of the pages that it may be with their part of its worth, and its rarity. */
function term(word, { pages, vocabulary }) {
  const root = stem(word);
  const [whole, longer] = [[], []];
  for (const [each, { root: its }] of vocabulary) {
    if (its === root || each === `${word}s` || `${each}s` === word) {
      whole.push(each);
    } else if (each.startsWith(root)) {
      longer.push(each);
    }
  }
  const part = whole.length ? LONGER : 1;
  const used = whole.length ? whole : longer;
  const number = Math.max(1, ...used.map((each) => vocabulary.get(each).number));
  return {
    word,
    forms: new Map([...longer.map((each) => [each, part]), ...whole.map((each) => [each, 1])]),
    rarity: Math.log1p(pages.length / number) / Math.log1p(USUAL),
    pattern: pattern(used),
    known: whole.length > 0,
  };
}

/** The word of the pages that a mistyped word is likeliest to be; the word itself if there is none. */
function corrected(word, { vocabulary }) {
  const known = [...vocabulary.keys()];
  const root = stem(word);
  if (word.length < CORRECTED || /\d/.test(word) || known.some((each) => each.startsWith(root))) {
    return word;
  }
  const near = known.filter((each) => each.length >= CORRECTED && mistyped(word, each));
  return near.sort((a, b) => vocabulary.get(b).number - vocabulary.get(a).number)[0] ?? word;
}

/** Is one word the other with a letter more, less or changed, or with two neighbours exchanged? */
function mistyped(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) {
    at += 1;
  }
  const [a, b] = [one.slice(at), other.slice(at)];
  const exchanged = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return exchanged || a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1);
}

/** @returns {{items: object[][]}} groups of a page and its sections, the best first */
function search(indexed, query) {
  const phrase = plain(query).split(" ").map((word) => corrected(word, indexed)).join(" ");
  const words = telling(phrase);
  if (!words.length) {
    return { items: [] };
  }
  const terms = words.map((word) => term(word, indexed));
  // An unknown last word is one that is being typed.
  const typed = terms.some((each) => !each.known) ? "" : " ";
  const asked = { phrase, typed, terms, rarities: sum(terms.map((each) => each.rarity)) };
  const all = indexed.pages.map((page) => found(page, asked)).filter(Boolean);
  const whole = all.filter((group) => group.has === words.length);
  // The right page may lack words of a sentence: missing words lower the score, but don't exclude.
  const some = words.length < SENTENCE && whole.length ? whole : all;
  const best = Math.min(Math.max(...some.map((group) => group.worth)), WORTH.begins);
  const shown = some.filter((group) => group.worth > LEAST * best).sort((a, b) => b.worth - a.worth);
  return { items: shown.map((group) => group.items()) };
}

/** A page and those of its sections that match a part of the query; null if none does. */
function found(page, asked) {
  const { terms, rarities } = asked;
  const listed = terms.map((each) => amount(page.listed, each.forms));
  const rated = page.sections.map((section) => rate(section, asked));
  const held = terms.filter((_, i) => listed[i] || rated.some((each) => each.held[i]));
  const [head, ...others] = rated;
  const first = head.score * FIRST + ofKeywords(page, asked, listed);
  const score = Math.max(first, ...others.map((each) => each.score));
  if (!score || !held.length) {
    return null;
  }
  const rest = others.filter((each) => each.score > 0).sort((a, b) => b.score - a.score).slice(0, 6);
  return {
    has: held.length,
    worth: score * (sum(held.map((each) => each.rarity)) / rarities) ** 2,
    items: () => [head, ...rest].map((each) => shown(page, each, terms)),
  };
}

/** The score of a page for its keywords. */
function ofKeywords(page, { phrase, typed, terms }, listed) {
  const stems = new Map(terms.map(({ word, rarity }) => [stem(word), rarity]));
  const contained = page.asked.filter((each) => each.length > 1 && each.every((one) => stems.has(one)));
  const exact = page.keywords.includes(phrase);
  const begun = phrase.length > 3 && page.keywords.some((each) => `${each} `.startsWith(phrase + typed));
  return (
    (exact ? WORTH.keyword : begun ? WORTH.begins : 0) +
    WORTH.asked * Math.max(0, ...contained.map((each) => sum(each.map((one) => stems.get(one))))) +
    WORTH.named * sum(terms.map(({ rarity }, i) => rarity * Math.min(listed[i], 1)))
  );
}

/** The score of a section, and which words it holds. */
function rate(section, { phrase, typed, terms }) {
  const { heading, words } = section;
  const named = terms.map((each) => amount(section.named, each.forms));
  const said = terms.map((each) => amount(section.said, each.forms));
  const worth = terms.map(
    ({ rarity }, i) => rarity * (WORTH.word * Math.min(named[i], 1) + WORTH.text * Math.min(said[i], 5)),
  );
  const [line, sought] = [` ${heading} `, ` ${phrase}${typed}`];
  const whole = heading === phrase ? WORTH.title : line.startsWith(sought) ? WORTH.begins : 0;
  const inside = line.includes(sought) ? WORTH.holds : 0;
  return {
    section,
    held: terms.map((_, i) => named[i] + said[i] > 0),
    score: sum(worth) + whole + inside + (` ${words} `.includes(sought) ? WORTH.phrase : 0),
  };
}

/** How often a word is in a text, where longer words count in part. */
function amount(counts, forms) {
  let all = 0;
  for (const [form, part] of forms) {
    all += part * (counts.get(form) ?? 0);
  }
  return all;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** A result in the theme's format; its texts are HTML. */
function shown(page, { section, score, held }, terms) {
  const patterns = terms.map((each) => each.pattern);
  return {
    location: section.anchor ? `${page.location}#${section.anchor}` : page.location,
    title: marked(section.title, patterns),
    text: marked(cut(section.text, patterns), patterns),
    score,
    terms: Object.fromEntries(terms.filter((_, i) => held[i]).map(({ word }) => [word, true])),
  };
}

/** What to mark in a text for these words, which may be written with a comma or in another way. */
function pattern(words) {
  const ways = words.flatMap((word) => [word, ...(OTHERS.get(word) ?? [])]).map(escaped);
  const some = ways.map((way) => way.replace(/^\d{4,6}$/, (all) => `${all.slice(0, -3)},?${all.slice(-3)}`));
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${some.join("|") || "(?!)"})(?![\\p{L}\\p{N}])`, "gu");
}

/** The excerpt of a text around the first match of the words. */
function cut(text, forms) {
  const small = text.toLowerCase();
  const places = forms.map((form) => small.search(form)).filter((place) => place >= 0);
  const first = Math.max(Math.min(...places, small.length) - SHOWN / 3, 0);
  const start = places.length && first ? text.indexOf(" ", first) + 1 : 0;
  const part = text.slice(start, start + SHOWN);
  return (start ? "… " : "") + part + (start + SHOWN < text.length ? " …" : "");
}

function marked(text, forms) {
  const places = forms.flatMap((form) => [...text.toLowerCase().matchAll(form)]);
  const spans = places
    .map((match) => [match.index, match.index + match[0].length])
    .sort((a, b) => a[0] - b[0]);
  let [made, at] = ["", 0];
  for (const [start, end] of spans) {
    if (start >= at) {
      made += `${safe(text.slice(at, start))}<mark>${safe(text.slice(start, end))}</mark>`;
      at = end;
    }
  }
  return made + safe(text.slice(at));
}

const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

addEventListener("message", async ({ data: { type, data } }) => {
  if (type !== QUERY) {
    postMessage({ type: READY });
  } else if (!data.trim()) {
    postMessage({ type: RESULT, data: { items: [] } });
  } else {
    index ??= fetched();
    try {
      postMessage({ type: RESULT, data: search(await index, data) });
    } catch (error) {
      index = null; // the next keystroke tries again
      throw error;
    }
  }
});
