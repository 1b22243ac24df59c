"""What a probe is asked, what a right engine answers, and what is read from an answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from posenc_conformance.deployed.instrument import (
    FILLERS,
    READ,
    SPECIAL,
    UNKNOWN,
    ZERO,
    Biased,
    Bucketed,
    Instrument,
    Tabled,
)
from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.deployed.probe import LARGEST_ACTIVATED, Probe
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Flags, Floats, Ints
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group, case_of, rows_of
from posenc_conformance.models.misreadings import longer

LEAST_BEFORE = 250
"""Tokens before the first query, at least: if few keys are seen, each gets much."""
UNREADABLE = 0.5
"""A score whose bound is larger than this, in its units, may be too small to be read."""
DIGITS = 3
"""Tokens at the beginning of a text that are its number."""
BEHIND = DIGITS + 2
"""Tokens behind the last query in a text for an encoder; and, if the key stands behind the queries,
before the first: its number and a neutral key."""
LONGEST_NEAR = 64
"""Up to this distance of a key the first query of a chain stands there, beyond it the last."""
ROUNDINGS_OF_A_SCORE = 5
"""What is rounded before a score, besides the rotation itself: the norm and the projection, of the
query and of the key, and the score."""
ROUNDINGS_OF_A_READING = 16
"""What is rounded after it, once for the key and once for the neutral one: the share, what the head
makes of it, the output projection, the sum, the norm (twice), the logit, the weight of the norm."""
ROUNDINGS_OF_A_LATENT = 2
"""What is rounded besides before a score where attention is latent: the norm of the query's narrow
layer, and the projection behind it."""
ROUNDINGS_OF_A_CAP = 4
"""What is rounded where a number is capped: the quotient, the hyperbolic tangent, which may be off
by two units, and the product."""
ROUNDINGS_OF_A_HEAD = 16
"""What is rounded besides in the head of an encoder, once for the key and once for the neutral one:
the matrix, the activation (its argument, a function of it that may be off by two units, and the
product), and the norm (as it is computed, as it is converted, and its product with its weight)."""
ROUNDINGS_OF_A_NORM = 6
"""What is rounded besides where a norm stands behind attention, once for the key and once for the
neutral one: the norm as it is computed, as it is converted, and its product with its weight."""
WORDS_READ = 6
"""Words that are read of an answer: the next query, four of keys, and zero; if embeddings are tied,
the query itself is likely too."""
LOG_PROBABILITY = 2.0**-17
"""Largest error of the difference of two log-probabilities from 0 to -64 that are float32: each is
made of a logit and a logarithm of at most 64, and rounded once more."""

LEAST_SHARE = 2.0**-24
"""The smallest share of a key that float16 holds, below which nothing is read of biases."""

Turn = Callable[[Floats, Ints], Floats]
"""Turns rows, [rows, channels], to positions: the queries, and as the last row the key."""


class Reader(Protocol):
    """Something that reads log-probabilities of words after a prompt."""

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Mapping[str, float]]:
        """Return, for each of some words written after a prompt, what it was chosen among."""

    def read_at(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return what an encoder says at some places of each text."""

    def read_after(
        self, texts: Sequence[Sequence[int]], begun: Sequence[Sequence[int]], steps: int
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return what a decoder chose words among, which go on from what was begun of each text."""


@dataclass(frozen=True)
class Prompt:
    """Fillers, one key, a neutral one beside the query, and the first query of a chain."""

    layer: int
    gain: int
    key: int
    """Position of the key."""
    first: int
    """Position of the first query."""
    steps: int
    """Queries of the chain that are asked."""
    given: int = 1
    """Queries that the prompt has already; the engine writes the others."""
    serial: int = 0
    """Number of the text: texts of different numbers have no beginning in common."""
    total: int = 0
    """Tokens of a text for an encoder, which is given as a whole; 0 for a text that goes on."""

    @property
    def neutral(self) -> int:
        """Position of the neutral key: just before the query, or before the key that is there."""
        return self.first - 1 - (self.key == self.first - 1)

    @property
    def positions(self) -> range:
        """Positions of the queries whose answers are read."""
        return range(self.first + self.given - 1, self.first + self.steps)

    @property
    def distances(self) -> range:
        """Distances of these queries from the key."""
        return range(self.positions[0] - self.key, self.positions[-1] - self.key + 1)

    @property
    def length(self) -> int:
        """Tokens of the whole text, with the last word that is written."""
        return self.total or self.first + self.steps + 1

    @property
    def farthest(self) -> int:
        """How far from the key the farthest query is, on whichever side."""
        return max(abs(self.distances[0]), abs(self.distances[-1]))

    @property
    def end(self) -> int:
        """Position of the last token that is given."""
        return self.total - 1 if self.total else self.first + self.given - 1

    def moved(self, by: int) -> "Prompt":
        """Return the prompt with so many tokens more before its key and its queries."""
        total = self.total + by if self.total else 0
        return replace(self, first=self.first + by, key=self.key + by, total=total)

    def tokens(self, probe: Probe) -> list[int]:
        """Return the tokens that are given."""
        plan = probe.plan
        digits = [self.serial // FILLERS**place for place in range(DIGITS)]
        count = self.total or self.first
        found = [plan.filler(digit) for digit in (*digits, *[0] * (count - DIGITS))]
        if isinstance(plan, Tabled):
            given = self.steps if self.total else self.given
            return found[: self.first] + [plan.query_token(step) for step in range(given)]
        layer = plan.numbered(self.layer, whole=bool(self.total))
        if self.total:
            asked = [plan.query_token(step) for step in range(self.steps)]
            found[self.first : self.first + self.steps] = asked
            found[self.key] = plan.key_token(layer, self.gain)
            found[self.neutral] = plan.key_token(layer, self.gain, neutral=True)
            return found
        found[self.key] = plan.key_token(layer, self.gain)
        found[self.neutral] = plan.key_token(layer, self.gain, neutral=True)
        return found + [plan.query_token(step) for step in range(self.given)]

    def both_texts(self, probe: Probe) -> tuple[list[int], list[int]]:
        """Return what an encoder is given, and what its decoder is.

        Only one of the two has keys. The decoder's begins with the token of padding, as T5's does.
        """
        plan = probe.plan
        if self.total:
            begun = [plan.query_token(step) for step in range(self.given)]
            return self.tokens(probe), [UNKNOWN, *begun]
        tokens = self.tokens(probe)
        return tokens[:DIGITS], [UNKNOWN, *tokens]


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose queries stand behind a key at a distance.

    The first of them does if that is near, and else the last. Encoders are asked about keys on both
    sides: a negative distance is that of a key that stands behind.
    """
    if probe.plan.encoder:
        prompt = whole_text(probe, group, distance, layer, steps)
    else:
        prompt = text_with(probe, group, distance, layer, steps)
    return with_gain(probe, group, prompt)


def with_gain(probe: Probe, group: Group, prompt: Prompt) -> Prompt:
    """Return a prompt with the largest gain with which all can be read."""
    return replace(prompt, gain=_gain(probe, group, prompt))


def text_with(
    probe: Probe,
    group: Group,
    distance: int,
    layer: int | None = None,
    steps: int | None = None,
    before: int = LEAST_BEFORE,
) -> Prompt:
    """Make the same prompt, with the smallest gain.

    At least so many tokens come ``before`` its queries, or its key if that is first.
    """
    count = len(probe.plan.pairs) if steps is None else steps
    nearest = distance if distance <= LONGEST_NEAR else distance - count + 1
    first = max(before, nearest + DIGITS if before == DIGITS else nearest)
    return Prompt(
        layer=group.layers[0] if layer is None else layer,
        gain=probe.plan.gains[0],
        key=first - nearest,
        first=first,
        steps=count,
    )


def whole_text(
    probe: Probe, group: Group, distance: int, layer: int | None, steps: int | None
) -> Prompt:
    """Make the same prompt for an encoder, with the smallest gain."""
    count = len(probe.plan.pairs) if steps is None else steps
    far = abs(distance)
    near = far <= LONGEST_NEAR and (group.reach is None or far + count - 1 <= group.reach)
    nearest = far if near else max(1, far - count + 1)
    first = max(LEAST_BEFORE, nearest)
    total = first + count + BEHIND
    key = first - nearest
    if distance < 0:
        key, first = total - 1 - key, total - first - count
    return Prompt(
        layer=group.layers[0] if layer is None else layer,
        gain=probe.plan.gains[0],
        key=key,
        first=first,
        steps=count,
        total=total,
    )


def _gain(probe: Probe, group: Group, prompt: Prompt) -> int:
    """Return the largest gain with which no logit becomes larger than may be read."""
    seen = keys_seen(group, prompt)
    values = np.array([[_growth(group, prompt), 0.0]] * len(seen))

    def fits(gain: int) -> bool:
        shares = shares_of(probe.largest_score(gain) * values, seen)
        if probe.plan.encoder:
            return bool(probe.activated(gain, shares).max() <= LARGEST_ACTIVATED)
        return bool(probe.logits(gain, shares).max() <= probe.largest_read)

    gains = probe.plan.gains
    return max(gain for gain in gains if gain == gains[0] or fits(gain))


def keys_seen(group: Group, prompt: Prompt) -> Ints:
    """Compute how many keys besides its own each query sees, at most."""
    positions = np.array(prompt.positions)
    if prompt.total:
        behind = prompt.total - 1 - positions
        if group.window is None:
            return np.asarray(positions + behind)
        near = np.minimum(positions, group.window) + np.minimum(behind, group.window)
        return np.asarray(near)
    if group.window is None:
        return np.asarray(positions)
    if group.attention == "chunked":
        return np.asarray(positions % group.window)
    return np.asarray(np.minimum(positions, group.window))


def shares_of(scores: Floats, seen: Ints) -> Floats:
    """Compute what a key and a neutral one get, [queries, heads, 2], from the scores of the key.

    ``seen`` is how many other keys each query sees, whose scores are 0.
    """
    raised = np.stack([np.exp(scores), np.ones_like(scores)], axis=-1)
    return np.asarray(raised / (np.exp(scores) + seen[:, np.newaxis])[..., np.newaxis])


def _growth(group: Group, prompt: Prompt) -> float:
    """Return by what a group makes scores larger."""
    growth = max(abs(multiplier(group, position)) for position in prompt.positions)
    return growth * longer(group) ** 2


@dataclass(frozen=True)
class Scores:
    """Scores of the queries of a prompt, and how far a right engine may be off."""

    values: Floats
    """[queries, 2], of the first and of the second head; of a table [queries, 1]: rows."""
    bound: Floats


def expected(
    probe: Probe,
    group: Group,
    prompt: Prompt,
    dtype: str,
    where: Sequence[int] | None = None,
    turn: Turn | None = None,
) -> Scores:
    """Compute the scores that a group gives, in units of the largest score of a plain rotation.

    ``where`` are the positions of the queries, if they are not those of the prompt, and ``turn``
    turns rows in place of the group. ``dtype`` is the shortest one in which anything is computed or
    kept.
    """
    plan = probe.plan
    asked = plan.order[prompt.given - 1 : prompt.steps]
    places = prompt.positions if where is None else where
    queries = np.zeros((len(asked), 2, plan.head_dim))
    for number, pair in enumerate(asked):
        first, second = plan.pairs[pair]
        queries[number, 0, first] = queries[number, 1, second] = 1.0
    key = np.zeros((1, plan.head_dim))
    key[0, [first for first, _ in plan.pairs]] = 1.0
    x = np.concatenate([queries.reshape(-1, plan.head_dim), key])
    rows = np.array([*np.repeat(np.array(places), 2), prompt.key])
    if group.call is None:
        turned, off = x, np.zeros_like(x)
    else:
        case = case_of(group, {"x": x, "positions": rows_of(group, rows)}).with_fields(dtype=dtype)
        turned, off = case.truth, np.broadcast_to(case.bound, x.shape)
    if turn is not None:
        turned = turn(x, rows)
        # A mistake may turn any pair as fast as the fastest one, and then it is off by as much.
        off = np.broadcast_to(off.max(axis=-1, keepdims=True), x.shape)
    grown = np.array([multiplier(group, place) for place in places])[:, np.newaxis]
    values = grown * (turned[:-1] @ turned[-1]).reshape(-1, 2)
    lengths = np.linalg.norm(turned[:-1], axis=-1).reshape(-1, 2)
    unit = UNIT_ROUNDOFF[dtype]
    slack = off[:-1] @ np.abs(turned[-1]) + np.abs(turned[:-1]) @ off[-1]
    amplitude = probe.largest_score(prompt.gain)
    roundings = ROUNDINGS_OF_A_SCORE
    roundings += (probe.score_cap is not None) * ROUNDINGS_OF_A_CAP
    roundings += (probe.latent is not None) * ROUNDINGS_OF_A_LATENT
    of_score = slack.reshape(-1, 2) + roundings * unit * lengths**2
    if probe.cache:
        of_score = of_score + CACHES[probe.cache].off(turned[:-1], turned[-1]).reshape(-1, 2)
    roundings = ROUNDINGS_OF_A_READING + probe.plan.encoder * ROUNDINGS_OF_A_HEAD
    norms = probe.normed_behind + probe.norms_behind(prompt.layer)
    roundings += norms * ROUNDINGS_OF_A_NORM
    of_reading = noise(probe, group, prompt, values, unit) + roundings * unit / amplitude
    slope = slope_of_cap(amplitude * values, probe.score_cap)
    return Scores(values, (grown * of_score + of_reading) * slope)


def noise(probe: Probe, group: Group, prompt: Prompt, values: Floats, unit: float = 0.0) -> Floats:
    """Compute what logits and log-probabilities in float32 leave open of each score.

    ``unit`` is the unit roundoff with which a cap of logits is computed.
    """
    amplitude = probe.largest_score(prompt.gain)
    shares = shares_of(amplitude * values, keys_seen(group, prompt))
    logits = probe.logits(prompt.gain, shares)
    off = LOG_PROBABILITY / logits
    if probe.logit_cap is not None:
        off = (off + ROUNDINGS_OF_A_CAP * unit) * slope_of_cap(logits, probe.logit_cap)
    return np.asarray(off.sum(axis=-1) / amplitude)


def slope_of_cap(values: Floats, cap: float | None) -> Floats:
    """Compute by what an error of a capped number grows when the cap is taken back."""
    return np.ones_like(values) if cap is None else np.cosh(values / cap) ** 2


@dataclass(frozen=True)
class Measured:
    """Scores of the queries of a prompt, as an engine gave them."""

    prompt: Prompt
    values: Floats
    """[queries, 2], in units of the largest score of a plain rotation; -inf for a key that is not
    seen, inf for one that leaves nothing to the neutral one."""
    lost: str = ""
    """What was likelier than a query that should have followed, as no right engine has it; the
    queries were then asked one by one. Empty if all followed."""

    def agrees_with(self, scores: Scores) -> bool:
        """Return whether each score is within its bound."""
        return bool((self.ratio(scores) <= 1).all())

    def ratio(self, scores: Scores) -> Floats:
        """Compute how far each score is off, in units of its bound.

        What is too small or too large to be read may be any score that is.
        """
        ratio = np.abs(self.values - scores.values) / scores.bound
        hidden = np.isinf(self.values) & (scores.bound > UNREADABLE)
        hidden &= np.sign(self.values) == np.sign(scores.values)
        return np.asarray(np.where(hidden, 0, ratio))

    @property
    def seen(self) -> Flags:
        """Which queries see the key."""
        return np.asarray(~np.isneginf(self.values).all(axis=1))


def measure(probe: Probe, reader: Reader, prompt: Prompt) -> Measured:
    """Ask an engine a prompt, and read its scores.

    If some word of a key is likelier than the query that should follow, because an engine gives too
    much to a key, queries are asked one by one, with a smaller gain.

    Raises Misbehaviour for an engine that does not answer, or whose answers are not a probe's.
    """
    if probe.plan.encoder:
        (answers,) = reader.read_at([prompt.tokens(probe)], [prompt.positions])
        return read_whole(probe, prompt, answers)
    answers = _answers(probe, reader, prompt)
    fewest, needed = min(map(len, answers)), words_read(probe.plan)
    if fewest < needed:
        raise Misbehaviour(
            f"the answer has log-probabilities of {fewest} words, and {needed} are read: allow "
            "more in the engine's options"
        )
    followed = [_likeliest(answer) for answer in answers]
    wanted = [
        probe.plan.words[probe.plan.following(step)]
        for step in range(prompt.given - 1, prompt.steps)
    ]
    strange = ""
    if followed != wanted:
        lost = next(pair for pair in zip(followed, wanted, strict=True) if pair[0] != pair[1])
        if lost[0] not in READ:
            raise Misbehaviour(
                f"where {lost[1]!r} must follow, {lost[0]!r} does: the engine reads other tokens "
                "than it was given, or has other weights than the probe"
            )
        strange = f"{lost[0]!r} where {lost[1]!r} must follow"
        prompt = replace(prompt, gain=probe.plan.gains[0])
        answers = [
            _answers(probe, reader, replace(prompt, given=given), 1)[0]
            for given in range(prompt.given, prompt.steps + 1)
        ]
    words = probe.plan.words
    named = [
        {words[probe.plan.query_token(step)], words[probe.plan.following(step)]}
        for step in range(prompt.given - 1, prompt.steps)
    ]
    if isinstance(probe.plan, Tabled):
        return Measured(prompt, np.array([[_row(probe.plan, each)] for each in answers]), strange)
    if isinstance(probe.plan, Biased):
        least = float(probe.logits(prompt.gain, np.array(least_read(probe, prompt.gain))))
        return Measured(prompt, np.array([_biases(each, least) for each in answers]), strange)
    scores = np.array(
        [_scores(probe, each, chain) for each, chain in zip(answers, named, strict=True)]
    )
    return Measured(prompt, scores / probe.largest_score(prompt.gain), strange)


def _answers(
    probe: Probe, reader: Reader, prompt: Prompt, steps: int | None = None
) -> Sequence[Mapping[str, float]]:
    """Ask an engine that writes; ``steps`` are the words, if they are not all of the prompt."""
    count = prompt.steps - prompt.given + 1 if steps is None else steps
    if isinstance(probe.plan, Bucketed):
        text, begun = prompt.both_texts(probe)
        (answers,) = reader.read_after([text], [begun], count)
        return answers
    return reader.read(prompt.tokens(probe), count)


def words_read(plan: Instrument) -> int:
    """Count the words whose log-probabilities are read of one answer."""
    return WORDS_READ + plan.tied


def read_whole(probe: Probe, prompt: Prompt, answers: Sequence[Mapping[str, float]]) -> Measured:
    """Read the scores, or the rows, of an encoder's answers at each query.

    Raises Misbehaviour for answers that are not a probe's.
    """
    if isinstance(probe.plan, Tabled):
        return Measured(prompt, np.array([[_row(probe.plan, each)] for each in answers]))
    scores = np.array([_scores(probe, each, set()) for each in answers])
    return Measured(prompt, scores / probe.largest_score(prompt.gain))


def least_read(probe: Probe, gain: int) -> float:
    """Return the smallest share of a key that can be read: what is smaller counts as that."""
    return max(LOG_PROBABILITY / float(probe.logits(gain, np.array(1.0))), LEAST_SHARE)


def _biases(answer: Mapping[str, float], least: float) -> tuple[float, float]:
    """Return the biases of both heads, the key's less the neutral key's, from log-probabilities.

    No logit counts as less than ``least``.
    """
    zero = answer.get(SPECIAL[ZERO], math.inf)
    key_first, key_second, neutral_first, neutral_second = (
        max(answer.get(word, -math.inf) - zero, least) for word in READ
    )
    return math.log(key_first / neutral_first), math.log(key_second / neutral_second)


def _row(plan: Tabled, answer: Mapping[str, float]) -> float:
    """Return the row of a table that a position got, from log-probabilities."""
    zero = answer.get(SPECIAL[ZERO], math.inf)
    following = max(answer.values()) - zero
    logits = [max(answer.get(word, -math.inf) - zero, 0.0) for word in READ]
    row = plan.row([each / following for each in logits]) if following > 0 else None
    if row is None:
        listed = ", ".join(f"{each:.3g}" for each in logits)
        raise Misbehaviour(
            f"what is read is no row of the table: {listed}, where the token that follows has "
            f"{following:.3g}; two rows were mixed, or the weights are others than the probe's"
        )
    return row


def _likeliest(answer: Mapping[str, float]) -> str:
    return max(answer, key=answer.__getitem__, default="")


def _scores(probe: Probe, answer: Mapping[str, float], chain: set[str]) -> tuple[float, float]:
    """Return the scores of both heads, from log-probabilities.

    ``chain`` are the words of the query and of what follows.
    """
    zero = _zero(probe, answer, chain)
    key_first, key_second, neutral_first, neutral_second = (
        _uncapped(max(answer.get(word, -math.inf) - zero, 0.0), probe.logit_cap) for word in READ
    )
    if not (key_first or neutral_first) or not (key_second or neutral_second):
        raise Misbehaviour(
            "neither key gets anything, although the neutral one stands beside the query: "
            f"among the likeliest words are {', '.join(answer)}"
        )
    first, second = _logarithm(key_first, neutral_first), _logarithm(key_second, neutral_second)
    return _uncapped(first, probe.score_cap), _uncapped(second, probe.score_cap)


def _zero(probe: Probe, answer: Mapping[str, float], chain: set[str]) -> float:
    """Return the log-probability of a word whose logit is 0, infinite if there is none.

    Differences from it are logits. Where embeddings are tied, the logits of all other words are 0.
    """
    if not probe.plan.tied:
        return answer.get(SPECIAL[ZERO], math.inf)
    others = (value for word, value in answer.items() if word not in READ and word not in chain)
    return max(others, default=math.inf)


def _uncapped(value: float, cap: float | None) -> float:
    """Return what a cap has made a number of; infinite if no number becomes so large."""
    if cap is None:
        return value
    return cap * math.atanh(value / cap) if abs(value) < cap else math.copysign(math.inf, value)


def _logarithm(key: float, neutral: float) -> float:
    if not neutral:
        return math.inf
    return math.log(key / neutral) if key else -math.inf
