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
/** Least number of telling words of a sentence, of which not every word must be found. */
const SENTENCE = 3;
const ENDINGS = /(?:ations?|ating|ated|ates?|ings?|ions?|ed|es|e|s)$/;

/** Scores. A page whose keywords have a word precedes a page whose text happens to have it. */
const WORTH = {
  keyword: 1000, title: 600, begins: 400, holds: 200, asked: 90, named: 30, word: 40, phrase: 20,
  text: 1,
};

/** Stop words. */
const IDLE = new Set(
  ("a about after all also an and any are as at be because before between but by can cannot do does " +
    "each every for from get gets gives has have how i if in instead into is it its just me my need no not of off " +
    "on only or other our should since so still than that the their then there they this to too up use using vs " +
    "want was we what when where which while who why will with without would you your").split(" "),
);

let index = null;

async function fetched() {
  const answer = await fetch(new URL("prose.json", location.href));
  if (!answer.ok) {
    throw new Error(`${answer.url}: ${answer.status}`);
  }
  return (await answer.json()).map((page) => ({
    ...page,
    keywords: page.keywords.map(plain),
    asked: page.keywords.map((each) => telling(plain(each)).map(stem)),
    sections: page.sections.map(([anchor, title, text]) => ({
      anchor, title, text, heading: plain(title), words: plain(text),
    })),
  }));
}

/** A text in comparable form: lower case, hyphens and underscores as spaces, and C++ as a word. */
function plain(text) {
  return text.toLowerCase().replaceAll("c++", "cpp").replace(/[^\p{L}\p{N}.]+/gu, " ").trim();
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

/** @returns {{items: object[][]}} groups of a page and its sections, the best first */
function search(pages, query) {
  const phrase = plain(query);
  const words = telling(phrase);
  if (!words.length) {
    return { items: [] };
  }
  const forms = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(stem(word))}`, "gu"));
  const all = pages.map((page) => found(page, phrase, words, forms)).filter(Boolean);
  const whole = all.filter((group) => group.missing === 0);
  // The right page may lack words of a sentence: missing words lower the score, but don't exclude.
  const some = words.length < SENTENCE && whole.length ? whole : all;
  const worth = ({ missing, score }) => score * (1 - missing / words.length) ** 2;
  return { items: some.sort((a, b) => worth(b) - worth(a)).map((group) => group.items) };
}

/** A page and those of its sections that match a part of the query; null if none does. */
function found(page, phrase, words, forms) {
  const keyword = page.keywords.includes(phrase);
  const begun = phrase.length > 3 && page.keywords.some((each) => each.startsWith(phrase));
  const stems = new Set(words.map(stem));
  const whole = page.asked.filter((each) => each.length > 1 && each.every((one) => stems.has(one)));
  const asked = WORTH.asked * Math.max(0, ...whole.map((each) => each.length));
  const rated = page.sections.map((section, place) => {
    const { heading, words: text } = section;
    const terms = {};
    let score = place === 0 && keyword ? WORTH.keyword : place === 0 && begun ? WORTH.begins : 0;
    score += place === 0 ? asked : 0;
    forms.forEach((form, i) => {
      const named = (heading.match(form) ?? []).length;
      const times = (text.match(form) ?? []).length;
      const listed = place === 0 && page.keywords.some((each) => each.match(form));
      terms[words[i]] = named + times > 0 || listed;
      score += listed ? WORTH.named : 0;
      score += (named ? WORTH.word : 0) + WORTH.text * Math.min(times, 5);
    });
    score += heading === phrase ? WORTH.title : heading.startsWith(phrase) ? WORTH.begins : 0;
    score += heading.includes(phrase) ? WORTH.holds : 0;
    score += text.includes(phrase) ? WORTH.phrase : 0;
    score *= place === 0 ? 1.5 : 1;
    return { section, place, score, terms };
  });
  const some = rated.filter((each) => each.score > 0);
  if (!some.length) {
    return null;
  }
  const has = words.filter((word) => some.some((each) => each.terms[word]));
  const [head] = rated;
  const rest = some.filter((each) => each.place > 0).sort((a, b) => b.score - a.score).slice(0, 6);
  return {
    missing: words.length - has.length,
    score: Math.max(...some.map((each) => each.score)),
    items: [head, ...rest].map((each) => shown(page, each, forms)),
  };
}

/** A result in the theme's format; its texts are HTML. */
function shown(page, { section, score, terms }, forms) {
  return {
    location: section.anchor ? `${page.location}#${section.anchor}` : page.location,
    title: marked(section.title, forms),
    text: marked(cut(section.text, forms), forms),
    score,
    terms: Object.fromEntries(Object.entries(terms).filter(([, has]) => has)),
  };
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
