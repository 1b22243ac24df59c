"""Sending a prompt to an engine, and reading scores from its log-probabilities."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from posenc_conformance.deployed.expected_scores import LOG_PROBABILITY, Scores
from posenc_conformance.deployed.instrument import (
    READ,
    SPECIAL,
    ZERO,
    Biased,
    Bucketed,
    Instrument,
    Tabled,
)
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.judge.arrays import DTYPES, Flags, Floats
from posenc_conformance.judge.misbehaviour import Misbehaviour

UNREADABLE = 0.5
"""Error bound of a score above which the score may be too small to be read."""
WORDS_READ = 6
"""Words read from an answer: the next query, four for keys, and zero; with tied embeddings,
the query itself is likely too."""

LEAST_ROUNDED = 16
"""Least number of different log-probabilities that tell their dtype."""
FEWEST_ROUNDED = 4
"""The same where no key is seen: words without a share have one value, and few others are left."""
DECIMALS = 2
"""Decimals with which no score can be read: the logit of a key with the share of one token among
hundreds is smaller than the last of them."""
TINY = 1e-6
"""Largest error of a decimal number in float32, from 0 to -8."""
LEAST_SHARE = 2.0**-24
"""The smallest share of a key in float16; where biases are measured, smaller shares count as it."""


class NothingRead(Misbehaviour):
    """An answer in which neither key has a share."""


class Reader(Protocol):
    """A source of log-probabilities."""

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Mapping[str, float]]:
        """Generate ``steps`` tokens, and return the log-probabilities at each step."""

    def read_at(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return an encoder's log-probabilities at ``places`` of each text."""

    def read_after(
        self, texts: Sequence[Sequence[int]], begun: Sequence[Sequence[int]], steps: int
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Generate ``steps`` tokens after each decoder text in ``begun``, as ``read`` does."""


@dataclass(frozen=True)
class Measured:
    """Measured scores of the queries of a prompt."""

    prompt: Prompt
    values: Floats
    """[queries, 2], in units of the largest score of a plain rotation; -inf for a key that is not
    seen, inf for a key that leaves no weight to the neutral one."""
    lost: str = ""
    """The word that was likelier than the expected next query, which no right engine produces; the
    queries were then measured one by one, or only those up to it. Empty if each query followed."""
    logits: Floats | None = None
    """[queries, 4], in the order of ``READ``, if the engine generates tokens and has keys."""

    def agrees_with(self, scores: Scores) -> bool:
        """Return whether each score is within its bound."""
        return bool((self.ratio(scores) <= 1).all())

    def ratio(self, scores: Scores) -> Floats:
        """Compute the error of each score, in units of its bound.

        An infinite value agrees with a score of its sign whose bound exceeds ``UNREADABLE``.
        """
        ratio = np.abs(self.values - scores.values) / scores.bound
        hidden = np.isinf(self.values) & (scores.bound > UNREADABLE)
        hidden &= np.sign(self.values) == np.sign(scores.values)
        return np.asarray(np.where(hidden, 0, ratio))

    @property
    def seen(self) -> Flags:
        """Whether each query sees the key."""
        return np.asarray(~np.isneginf(self.values).all(axis=1))


def measure(probe: Probe, reader: Reader, prompt: Prompt, *, again: bool = True) -> Measured:
    """Send a prompt to an engine, and read its scores.

    If an engine gives a key a share so large that its word is likelier than the next query, queries
    are measured one by one, with a smaller gain. Without ``again``, only those up to it are read.

    Raises Misbehaviour for an engine that does not answer, or whose answers are not a probe's.
    """
    if probe.plan.encoder:
        (answers,) = reader.read_at([prompt.tokens(probe)], [prompt.positions])
        _require_digits(answers)
        return read_whole(probe, prompt, answers)
    answers = answers_to(probe, reader, prompt)
    fewest, needed = min(map(len, answers)), words_read(probe.plan)
    if fewest < needed:
        raise Misbehaviour(
            f"the answer has log-probabilities of {fewest} words, and {needed} are read: allow "
            "more in the engine's options"
        )
    _require_digits(answers)
    if not prompt.given:
        answers = _after_key(probe, prompt, answers)
    followed = [_likeliest(answer) for answer in answers]
    expected = [probe.plan.words[probe.plan.following(step)] for step in prompt.measured]
    strange = ""
    if followed != expected:
        pairs = [*zip(followed, expected, strict=True)]
        place = next(number for number, pair in enumerate(pairs) if pair[0] != pair[1])
        lost = pairs[place]
        if lost[0] not in READ:
            raise Misbehaviour(
                f"where {lost[1]!r} must follow, {lost[0]!r} does: the engine reads other tokens "
                "than it was given, or has other weights than the probe"
            )
        strange = f"{lost[0]!r} where {lost[1]!r} must follow"
        if again:
            prompt = replace(prompt, gain=probe.plan.gains[0])
            answers = [
                answers_to(probe, reader, replace(prompt, given=count), 1)[0]
                for count in range(max(prompt.given, 1), prompt.steps + 1)
            ]
        else:
            answers = answers[: place + 1]
            prompt = replace(prompt, steps=prompt.measured[place] + 1)
    words = probe.plan.words
    named = [
        {words[probe.plan.query_token(step)], words[probe.plan.following(step)]}
        for step in prompt.measured
    ]
    if isinstance(probe.plan, Tabled):
        return Measured(prompt, np.array([[_row(probe.plan, reply)] for reply in answers]), strange)
    if isinstance(probe.plan, Biased):
        least = float(probe.logits(prompt.gain, np.array(least_read(probe, prompt.gain))))
        return Measured(prompt, np.array([_biases(reply, least) for reply in answers]), strange)
    try:
        logits = np.array(
            [_logits(probe, reply, chain) for reply, chain in zip(answers, named, strict=True)]
        )
    except NothingRead:
        _require_digits(answers, FEWEST_ROUNDED)
        raise
    scores = np.array([_scores(probe, row) for row in logits])
    return Measured(prompt, scores / probe.largest_score(prompt.gain), strange, logits)


def _require_digits(answers: Sequence[Mapping[str, float]], fewest: int = LEAST_ROUNDED) -> None:
    """Raise Misbehaviour if all log-probabilities are numbers of bfloat16, or have few decimals.

    It takes ``fewest`` different ones to tell. Logits may be such numbers. But a difference of two
    logits has more bits than either, and where no word is certain, so has the logarithm of the sum.
    """
    values = np.array([*{value for answer in answers for value in answer.values()}])
    values = values[np.isfinite(values)]
    rounded = values.astype(DTYPES["bfloat16"]).astype(values.dtype)
    if len(values) >= fewest and (values == rounded).all():
        raise Misbehaviour(
            "all log-probabilities are rounded to bfloat16, which leaves too few digits to read "
            "scores: let the engine compute them in float32, or serve the probe in float32"
        )
    if len(values) >= fewest and (np.abs(values - np.round(values, DECIMALS)) < TINY).all():
        raise Misbehaviour(
            f"all log-probabilities have at most {DECIMALS} decimals, which leaves too few digits "
            "to read scores: let the engine print all digits"
        )


def _after_key(
    probe: Probe, prompt: Prompt, answers: Sequence[Mapping[str, float]]
) -> Sequence[Mapping[str, float]]:
    """Return the answers after a generated key and the first query.

    Raises Misbehaviour if the engine did not generate these two.
    """
    plan = probe.plan
    wanted = [
        plan.words[token]
        for token in (plan.key_token(prompt.layer, prompt.gain), plan.query_token(0))
    ]
    followed = [_likeliest(answer) for answer in answers[:2]]
    if followed != wanted:
        raise Misbehaviour(
            f"where {' and '.join(map(repr, wanted))} must follow, "
            f"{' and '.join(map(repr, followed))} do: the engine has other weights than the probe"
        )
    return answers[2:]


def answers_to(
    probe: Probe, reader: Reader, prompt: Prompt, steps: int | None = None
) -> Sequence[Mapping[str, float]]:
    """Return the answers to a prompt; ``steps`` replaces the number of tokens to generate."""
    count = prompt.generated if steps is None else steps
    if isinstance(probe.plan, Bucketed):
        text, begun = prompt.both_texts(probe)
        (answers,) = reader.read_after([text], [begun], count)
        return answers
    return reader.read(prompt.tokens(probe), count)


def words_read(plan: Instrument) -> int:
    """Count the words whose log-probabilities are read from one answer."""
    return WORDS_READ + plan.tied


def read_whole(probe: Probe, prompt: Prompt, answers: Sequence[Mapping[str, float]]) -> Measured:
    """Read the scores, or the rows, of an encoder's answers at each query.

    Raises Misbehaviour for answers that are not a probe's.
    """
    if isinstance(probe.plan, Tabled):
        return Measured(prompt, np.array([[_row(probe.plan, answer)] for answer in answers]))
    scores = np.array([_scores(probe, _logits(probe, answer, set())) for answer in answers])
    return Measured(prompt, scores / probe.largest_score(prompt.gain))


def least_read(probe: Probe, gain: int) -> float:
    """Return the smallest share of a key that can be read; smaller ones count as this."""
    return max(LOG_PROBABILITY / float(probe.logits(gain, np.array(1.0))), LEAST_SHARE)


def _biases(answer: Mapping[str, float], least: float) -> tuple[float, float]:
    """Return the biases of both heads, the key's minus the neutral key's, from log-probabilities.

    Logits below ``least`` count as ``least``.
    """
    zero = answer.get(SPECIAL[ZERO], math.inf)
    key_first, key_second, neutral_first, neutral_second = (
        max(answer.get(word, -math.inf) - zero, least) for word in READ
    )
    return math.log(key_first / neutral_first), math.log(key_second / neutral_second)


def _row(plan: Tabled, answer: Mapping[str, float]) -> float:
    """Return the row of a table at a position, from log-probabilities."""
    zero = answer.get(SPECIAL[ZERO], math.inf)
    following = max(answer.values()) - zero
    logits = [max(answer.get(word, -math.inf) - zero, 0.0) for word in READ]
    row = plan.row([logit / following for logit in logits]) if following > 0 else None
    if row is None:
        listed = ", ".join(f"{logit:.3g}" for logit in logits)
        raise Misbehaviour(
            f"what is read is no row of the table: {listed}, where the token that follows has "
            f"{following:.3g}; two rows were mixed, or the weights are others than the probe's"
        )
    return row


def _likeliest(answer: Mapping[str, float]) -> str:
    return max(answer, key=answer.__getitem__, default="")


def _logits(
    probe: Probe, answer: Mapping[str, float], chain: set[str]
) -> tuple[float, float, float, float]:
    """Return the logits of the words that are read, before any cap.

    ``chain`` contains the words of the query and of the next token. Raises NothingRead if neither
    key of a head has one.
    """
    zero = _zero(probe, answer, chain)
    key_first, key_second, neutral_first, neutral_second = (
        _uncapped(max(answer.get(word, -math.inf) - zero, 0.0), probe.logit_cap) for word in READ
    )
    if not (key_first or neutral_first) or not (key_second or neutral_second):
        raise NothingRead(
            "neither key gets anything, although the neutral one stands beside the query: "
            f"among the likeliest words are {', '.join(answer)}"
        )
    return key_first, key_second, neutral_first, neutral_second


def _scores(probe: Probe, logits: Sequence[float]) -> tuple[float, float]:
    """Return the scores of both heads, from the logits that are read."""
    key_first, key_second, neutral_first, neutral_second = logits
    first, second = _logarithm(key_first, neutral_first), _logarithm(key_second, neutral_second)
    return _uncapped(first, probe.score_cap), _uncapped(second, probe.score_cap)


def _zero(probe: Probe, answer: Mapping[str, float], chain: set[str]) -> float:
    """Return the log-probability of a word whose logit is 0, infinite if there is none.

    Differences from it are logits. With tied embeddings, the logits of all other words are 0.
    """
    if not probe.plan.tied:
        return answer.get(SPECIAL[ZERO], math.inf)
    others = (value for word, value in answer.items() if word not in READ and word not in chain)
    return max(others, default=math.inf)


def _uncapped(value: float, cap: float | None) -> float:
    """Return the number that a soft cap turns into ``value``; infinite if there is none."""
    if cap is None:
        return value
    return cap * math.atanh(value / cap) if abs(value) < cap else math.copysign(math.inf, value)


def _logarithm(key: float, neutral: float) -> float:
    if not neutral:
        return math.inf
    return math.log(key / neutral) if key else -math.inf
