/**
 * The site's search: it speaks the messages of the theme's worker, and is named in its place. The
 * index is fetched when somebody searches, and not before.
 */
const READY = 1;
const QUERY = 2;
const RESULT = 3;
/** Letters of a text that a result shows. */
const SHOWN = 220;
/** Shorter words are searched as they are. */
const STEM = 6;
/** Telling words that make a sentence, of which not every one must be found. */
const SENTENCE = 3;
const ENDINGS = /(?:ations?|ating|ated|ates?|ings?|ions?|ed|es|e|s)$/;

/** What counts. A page that was named for a word comes before one that happens to have it. */
const WORTH = {
  keyword: 1000, title: 600, begins: 400, holds: 200, asked: 90, named: 30, word: 40, phrase: 20,
  text: 1,
};

/** Words of a sentence that say nothing of what somebody looks for. */
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

/** A text as it is compared: small letters, hyphens and underscores as spaces, and C++ as a word. */
function plain(text) {
  return text.toLowerCase().replaceAll("c++", "cpp").replace(/[^\p{L}\p{N}.]+/gu, " ").trim();
}

/** What a word begins with in all its forms. */
function stem(word) {
  return word.length < STEM ? word : word.replace(ENDINGS, "");
}

/** The words of a text that say what it is about; all of them if none does. */
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
  // A sentence has words that the right page has not: what is missing costs, and does not decide.
  const some = words.length < SENTENCE && whole.length ? whole : all;
  const worth = ({ missing, score }) => score * (1 - missing / words.length) ** 2;
  return { items: some.sort((a, b) => worth(b) - worth(a)).map((group) => group.items) };
}

/** A page and those of its sections that have something of the query; null if none has. */
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

/** A result in the form that the theme draws; its texts are HTML. */
function shown(page, { section, score, terms }, forms) {
  return {
    location: section.anchor ? `${page.location}#${section.anchor}` : page.location,
    title: marked(section.title, forms),
    text: marked(cut(section.text, forms), forms),
    score,
    terms: Object.fromEntries(Object.entries(terms).filter(([, has]) => has)),
  };
}

/** The part of a text in which the first of the words stands. */
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
      index = null; // the next letter tries again
      throw error;
    }
  }
});
