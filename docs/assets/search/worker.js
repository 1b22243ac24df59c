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
const ENDINGS = /(?:ations?|ating|ated|ates?|ings?|ions?|ed|es|e|s)$/;

/** What counts. A page that was named for a word comes before one that happens to have it. */
const WORTH = {
  keyword: 1000, title: 600, begins: 400, holds: 200, named: 30, word: 40, phrase: 20, text: 1,
};

/** Words of a sentence that say nothing of what somebody looks for. */
const IDLE = new Set(
  ("a after an and are as at be but by can do does for from get gives has have how i if in is it me my need no " +
    "of on or should so that the then there this to use vs want was what when where which who why will with you").split(" "),
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
    sections: page.sections.map(([anchor, title, text]) => ({
      anchor, title, text, heading: plain(title), words: plain(text),
    })),
  }));
}

/** A text as it is compared: small letters, and hyphens and underscores as spaces. */
function plain(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}.]+/gu, " ").trim();
}

/** What a word begins with in all its forms. */
function stem(word) {
  return word.length < STEM ? word : word.replace(ENDINGS, "");
}

/** @returns {{items: object[][]}} groups of a page and its sections, the best first */
function search(pages, query) {
  const phrase = plain(query);
  const every = [...new Set(phrase.split(" "))].filter(Boolean);
  if (!every.length) {
    return { items: [] };
  }
  const telling = every.filter((word) => !IDLE.has(word));
  const words = telling.length ? telling : every;
  const forms = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(stem(word))}`, "gu"));
  const all = pages.map((page) => found(page, phrase, words, forms)).filter(Boolean);
  const whole = all.filter((group) => group.missing === 0);
  return {
    items: (whole.length ? whole : all)
      .sort((a, b) => a.missing - b.missing || b.score - a.score)
      .map((group) => group.items),
  };
}

/** A page and those of its sections that have something of the query; null if none has. */
function found(page, phrase, words, forms) {
  const keyword = page.keywords.includes(phrase);
  const begun = phrase.length > 3 && page.keywords.some((each) => each.startsWith(phrase));
  const rated = page.sections.map((section, place) => {
    const { heading, words: text } = section;
    const terms = {};
    let score = place === 0 && keyword ? WORTH.keyword : place === 0 && begun ? WORTH.begins : 0;
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
