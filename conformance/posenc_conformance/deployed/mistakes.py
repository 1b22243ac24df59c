"""The scores of engines with known mistakes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap

import numpy as np

from posenc_conformance.deployed.architectures.tensor_layout import Normed
from posenc_conformance.deployed.bias_mistakes import wrong_biases
from posenc_conformance.deployed.expected_scores import Scores, expected, noise
from posenc_conformance.deployed.instrument import HEADS, Biased, Bucketed, Tabled
from posenc_conformance.deployed.instruments import (
    alibi_mistakes,
    learned_instrument,
    t5_instrument,
)
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.position_errors import wrong_places
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt, keys_seen, shares_of
from posenc_conformance.deployed.wrong_rotations import wrong_turns
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.file import Model
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group, case_of, rows_of
from posenc_conformance.models.misreadings import MISTAKES, changed_numbers

BASES = (10000, 500000, 1000000, 100000, 150000, 5000000, 10000000, 8000000, 2000000)
"""Bases of released models, the usual ones first."""
LARGEST_PART = 0.999
"""Part of its cap to which a reading is clipped; a larger reading may be any number."""
FITS_NORMS = 1e-3
"""Relative error of the factors that wrong weights of norms cause: a norm has an eps."""
SMALLEST_OFF = 1e-15
"""Error of a factor below which its digits are those of float64."""
NOTHING = 1e-6
"""A factor of scores that is 0 up to rounding."""
MOST_CAPS = 16.0
"""Largest cap of scores that is tried, in units of the right one."""
BISECTIONS = 60
"""Number of halvings after which a cap is known to the last digit."""
ROTATED = "unrotated-layers-rotated"
OF_BASE = ("base-ignored", "base-of-another-model")


@dataclass(frozen=True)
class Explanation:
    """A mistake and its scores."""

    id: str
    words: str
    scores: Callable[[Prompt], Scores]

    def fits(self, found: Sequence[Measured]) -> bool:
        """Return whether the mistake explains all measurements."""
        return all(measured.agrees_with(self.scores(measured.prompt)) for measured in found)

    def is_seen(self, right: Callable[[Prompt], Scores], found: Sequence[Measured]) -> bool:
        """Return whether the mistake exceeds a bound in any of these texts.

        A mistake that does not would have passed there, and explains no failure.
        """
        return not all(
            Measured(text.prompt, self.scores(text.prompt).values).agrees_with(right(text.prompt))
            for text in found
        )


def explain(
    probe: Probe, model: Model, group: Group, dtype: str, found: Sequence[Measured]
) -> list[Explanation]:
    """Return the mistakes that explain all measurements, the most specific first.

    Pairs of mistakes are tried if no single one does.
    """
    if isinstance(probe.plan, Tabled):
        tabled = learned_instrument.explanations(probe, group, model.meaning.context, found)
        return [candidate for candidate in starmap(Explanation, tabled) if candidate.fits(found)]
    if isinstance(probe.plan, Biased):
        wrong = alibi_mistakes.explanations(probe, group, model.meaning.context, found, dtype)
        return [candidate for candidate in starmap(Explanation, wrong) if candidate.fits(found)]
    if isinstance(probe.plan, Bucketed):
        made = t5_instrument.explanations(probe, group, model.meaning.context, found, dtype)
        return [candidate for candidate in starmap(Explanation, made) if candidate.fits(found)]
    own = next(candidate for candidate in model.meaning.groups if candidate.id == group.id)
    meant = _of_text(own)
    single = [
        (mistake.id, f"{mistake.what}{changed_numbers(meant, made)}", made)
        for mistake in MISTAKES
        for made in mistake.ways(meant, model.meaning, model.configuration)
    ]
    single += _turned_anyway(own, group, model)
    right = partial(expected, probe, dtype=dtype)
    alone = _known(probe, group, model, single, right, found)
    fits = [candidate for candidate in alone if candidate.fits(found)]
    fits = fits or [candidate for candidate in _pairs(single, right) if candidate.fits(found)]
    return [candidate for candidate in fits if candidate.is_seen(partial(right, group), found)]


Made = tuple[str, str, Group]
"""A mistake, its description, and the group with the mistake."""


def _of_text(group: Group) -> Group:
    """Return a group that a text cannot tell from the given one: M-RoPE is RoPE for a text."""
    if group.scheme != "m-rope":
        return group
    size, width = int(group.parameters["head_dim"]), rotated(group)
    part = {"rotary_dim": width} if width < size else {}
    return replace(
        group,
        scheme="rope",
        call="rope",
        combination=str(group.conventions["layout"]),
        parameters={"head_dim": size, "base": group.parameters["base"], **part},
    )


def _turned_anyway(own: Group, group: Group, model: Model) -> list[Made]:
    """Return the layers of a model without rotation as if they were rotated.

    Its configuration may have a base all the same.
    """
    if own.call is not None or any(other.turns for other in model.meaning.groups):
        return []
    given = model.configuration.get("rope_theta")
    return [
        (
            ROTATED,
            f"layers without positions rotated, with the base {base:,} and {words}",
            replace(
                group,
                scheme="rope",
                call="rope",
                combination=layout,
                parameters={"head_dim": group.parameters["head_dim"], "base": base},
            ),
        )
        for base in dict.fromkeys((*([given] if given else []), *BASES))
        for layout, words in (("half", "halves paired"), ("interleaved", "neighbours paired"))
    ]


def _known(
    probe: Probe,
    group: Group,
    model: Model,
    single: Sequence[Made],
    right: Callable[..., Scores],
    found: Sequence[Measured],
) -> Iterator[Explanation]:
    """Yield the single mistakes."""
    for id, words, made in (*single, *_other_bases(group)):
        yield Explanation(id, f"matches {words}", partial(right, made))
    if group.turns:
        for id, words, turn in wrong_turns(group):
            yield Explanation(id, f"matches {words}", partial(right, group, turn=turn))
        if probe.family.normed is not Normed.NEVER:
            words = "matches queries and keys that are normed behind the rotation"
            normed = partial(_normed_behind, probe, group)
            yield Explanation("norm-after-rotation", words, partial(right, group, turn=normed))
        for id, words, scores in wrong_biases(probe, group, partial(right, group)):
            yield Explanation(id, f"matches {words}", scores)
        for id, words, places in wrong_places(model.meaning.context, writes=not probe.plan.encoder):
            at = partial(_at, group, right, places)
            yield Explanation(id, f"matches {words}", at)
    if probe.score_cap is not None:
        scores = partial(_uncapped, probe, group, right, probe.score_cap)
        yield Explanation("score-cap-missing", "matches scores that nothing caps", scores)
        yield from _other_cap(probe, group, right, probe.score_cap, found[0])
    if probe.logit_cap is not None:
        scores = partial(_uncapped_logits, probe, group, right, probe.logit_cap)
        yield Explanation("logit-cap-missing", "matches logits that nothing caps", scores)
    yield from _of_size(probe, group, right, found)


def _normed_behind(probe: Probe, group: Group, x: Floats, rows: Ints) -> Floats:
    """Rotate rows before their norm: its weights differ in the two channels of a pair."""
    weights = probe.weights_of_query_norm().reshape(-1, probe.plan.head_dim)[:HEADS]
    in_heads = np.ones_like(x)
    in_heads[:-1] = np.resize(weights, x[:-1].shape)
    turned = x / in_heads
    if group.call is not None:
        turned = case_of(group, {"x": turned, "positions": rows_of(group, rows)}).truth
    return np.asarray(turned * in_heads)


def _uncapped_logits(
    probe: Probe, group: Group, right: Callable[..., Scores], cap: float, prompt: Prompt
) -> Scores:
    """Return the scores read from uncapped logits: the kit inverts the cap that is missing."""
    scores, amplitude = right(group, prompt), probe.largest_score(prompt.gain)
    scaled = amplitude * scores.values
    if probe.score_cap is not None:
        scaled = probe.score_cap * np.tanh(scaled / probe.score_cap)
    seen = keys_seen(group, prompt)
    logits, slopes = _taken_back(probe.logits(prompt.gain, shares_of(scaled, seen)), cap)
    read = np.log(logits[..., 0] / logits[..., 1])
    if probe.score_cap is not None:
        read, _ = _taken_back(read, probe.score_cap)
    return Scores(read / amplitude, scores.bound * slopes.max(axis=-1))


def _taken_back(values: Floats, cap: float) -> tuple[Floats, Floats]:
    """Return numbers after the inverse of a cap, and the factors of their errors."""
    parts = np.clip(values / cap, -LARGEST_PART, LARGEST_PART)
    return cap * np.arctanh(parts), 1 / (1 - parts**2)


def _uncapped(
    probe: Probe, group: Group, right: Callable[..., Scores], cap: float, prompt: Prompt
) -> Scores:
    """Return the readings of uncapped scores: the kit inverts the cap that is missing."""
    scores, amplitude = right(group, prompt), probe.largest_score(prompt.gain)
    values, slopes = _taken_back(amplitude * scores.values, cap)
    return Scores(values / amplitude, scores.bound * slopes)


def _other_cap(
    probe: Probe, group: Group, right: Callable[..., Scores], cap: float, first: Measured
) -> Iterator[Explanation]:
    """Yield the mistake of another cap of scores, which is read from the largest score."""
    amplitude = probe.largest_score(first.prompt.gain)
    meant = np.abs(amplitude * right(group, first.prompt).values)
    place = np.unravel_index(meant.argmax(), meant.shape)
    score, got = (
        float(meant[place]),
        abs(float(cap * np.tanh(amplitude * first.values[place] / cap))),
    )
    if not 0 < got < score:
        return
    low, high = got, MOST_CAPS * cap
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * np.tanh(score / middle) < got else (low, middle)

    def capped(prompt: Prompt) -> Scores:
        scores, amplitude = right(group, prompt), probe.largest_score(prompt.gain)
        cut = low * np.tanh(amplitude * scores.values / low)
        values, slopes = _taken_back(cut, cap)
        return Scores(values / amplitude, scores.bound * slopes)

    words = "matches scores that are capped at {}; {} was asked for".format(*apart(low, cap))
    yield Explanation("score-cap-wrong", words, capped)


def _at(
    group: Group,
    right: Callable[..., Scores],
    places: Callable[[Prompt], tuple[Sequence[int], int]],
    prompt: Prompt,
) -> Scores:
    """Return the scores of queries and a key at wrong positions."""
    queries, key = places(prompt)
    return right(group, replace(prompt, key=key), where=queries)


def _other_bases(group: Group) -> list[Made]:
    """Return the group with the bases of other models."""
    if not group.turns:
        return []
    return [
        (
            "base-of-another-model",
            f"base {base:,}; {group.parameters['base']:,} was asked for",
            replace(group, parameters={**group.parameters, "base": base}),
        )
        for base in BASES
        if base != group.parameters["base"]
    ]


def _pairs(single: Sequence[Made], right: Callable[..., Scores]) -> Iterator[Explanation]:
    """Yield pairs of mistakes: each single one together with another base."""
    for id, words, made in single:
        if id in OF_BASE:
            continue
        for other, base, wrong in _other_bases(made):
            name = OF_BASE[0] if wrong.parameters["base"] == 10000 else other
            yield Explanation(
                f"{id}+{name}",
                f"matches {words.partition(';')[0]}, and {base}",
                partial(right, wrong),
            )


def _of_size(
    probe: Probe, group: Group, right: Callable[..., Scores], found: Sequence[Measured]
) -> Iterator[Explanation]:
    """Yield the mistake of multiplied scores, by one factor or by one for each head.

    The factors are fitted to the first text.
    """
    got, scores = found[0].values, right(group, found[0].prompt)
    read = np.isfinite(got)
    if not read.any():
        return
    uncertain = scores.bound + noise(probe, group, found[0].prompt, np.where(read, got, 0))
    weights = np.where(read, uncertain**-2.0, 0)
    products = weights * np.where(read, got, 0) * scores.values
    squares = weights * scores.values**2
    both, off = float(products.sum() / squares.sum()), float(squares.sum() ** -0.5)
    yield _multiplied(probe, group, right, np.array([both, both]), np.array([off, off]))
    if (squares.sum(axis=0) > 0).all():
        of_heads = products.sum(axis=0) / squares.sum(axis=0)
        yield _multiplied(probe, group, right, of_heads, squares.sum(axis=0) ** -0.5)


def _multiplied(
    probe: Probe, group: Group, right: Callable[..., Scores], factors: Floats, off: Floats
) -> Explanation:
    """Return the mistake of scores that are multiplied by a factor for each head.

    ``off`` are the errors of the factors.
    """

    def multiplied(prompt: Prompt) -> Scores:
        scores = right(group, prompt)
        values = factors * scores.values
        larger = np.maximum(1.0, np.abs(factors))
        return Scores(values, larger * scores.bound + noise(probe, group, prompt, values))

    first, second = map(_known_digits, factors, off)
    if abs(factors[0] - factors[1]) <= off.sum():  # one factor, which one head tells better
        first = second = max(first, second, key=len)
    words = f"matches scores that are multiplied by {first}"
    if (np.abs(factors) < NOTHING).all():
        words = "all scores are 0, as with queries or keys of heads that are not those asked for"
        return Explanation("scores-zero", words, multiplied)
    if first != second:
        words += f" in one head and by {second} in the other"
    if probe.family.normed is Normed.BY_HEAD and (why := _of_norms(probe, factors)):
        words += f", as if {why}"
    return Explanation("scores-multiplied", words, multiplied)


def _known_digits(factor: float, off: float) -> str:
    """Return a factor with the digits that its error leaves: four, and eight of one close to 1."""
    decimals = max(0, math.floor(-math.log10(max(off, SMALLEST_OFF))))
    digits = 4 if abs(factor - 1) > 1e-3 else 8
    return f"{round(factor, decimals):.{digits}g}"


def _of_norms(probe: Probe, factors: Floats) -> str:
    """Say which wrong weights of the norms of queries and keys multiply scores by these factors."""
    queries, key = probe.weights_of_query_norm()[[*probe.plan.pairs[0]]], probe.key_weight
    ways = {
        "the weight of the norm of queries were missing": 1 / queries,
        "the weight of the norm of keys were missing": np.full(HEADS, 1 / key),
        "the weights of both norms were missing": 1 / (queries * key),
        "queries were normed with the weight of keys": key / queries,
        "keys were normed with the weight of queries": np.full(HEADS, queries[0] / key),
        "the norms of queries and keys were exchanged": queries[0] / queries,
    }
    fitting = [why for why, made in ways.items() if np.allclose(made, factors, rtol=FITS_NORMS)]
    return " or ".join(fitting)
