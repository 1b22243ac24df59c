"""Bucketed distances: prompts, the scores of a right engine, and those of wrong ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import (
    LOG_PROBABILITY,
    ROUNDINGS_OF_A_READING,
    ROUNDINGS_OF_A_SCORE,
    Scores,
)
from posenc_conformance.deployed.instrument import Bucketed
from posenc_conformance.deployed.instruments.alibi_instrument import FEW_DIGITS, ROUNDINGS_OF_A_BIAS
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.position_errors import Places, wrong_places
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import DIGITS, Prompt, text_with, whole_text
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.models.meaning import Context, Group, case_of

ROUNDINGS_OF_A_SECOND_ATTENTION = 14
"""Additional roundings where the decoder looks up the encoder's readings, once for the key and once
for the neutral one: the encoder's last norm (as it is computed, as it is converted, and its product
with its weight), the value, the output of the head, the output projection, the sum."""
LOST_LATER = (
    "one bias for all keys beside words that the engine writes: it adds none, or takes each word "
    "for the first of a text"
)

LEAST_REACH = 2048
"""Distances up to this one, at least, may have different buckets, also in a wrong engine."""

Buckets = Callable[[Ints], Ints]
"""Returns the buckets of distances: positions of keys minus those of queries."""


@dataclass(frozen=True)
class Rule:
    """An engine's treatment of distances and of scores."""

    buckets: Buckets
    content: float = 1.0
    """The factor of scores before a bias is added."""
    bias: float = 1.0
    """The factor of biases."""
    places: Places | None = None
    """Positions of queries and keys, if they are wrong."""
    first_alone: bool = False
    """Whether queries that are generated have no bias."""


Named = tuple[str, str, Rule]


def is_whole(group: Group) -> bool:
    """Return whether a group reads complete texts: whether it is the encoder's."""
    return group.combination == "bidirectional"


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose first or last query is at ``distance`` from a key.

    A negative distance is that of a key after the query, in the encoder.
    """
    if is_whole(group):
        prompt = whole_text(probe, group, distance, layer, steps)
    else:
        prompt = text_with(probe, group, distance, layer, steps, before=DIGITS)
    rule = Rule(right_buckets(group))
    sums = _seen(probe, group, prompt, rule)

    def largest(gain: int) -> float:
        return float(_logits(probe, group, replace(prompt, gain=gain), rule, sums).max())

    gains = probe.plan.gains
    fitting = [gain for gain in gains if gain == gains[0] or largest(gain) <= probe.largest_read]
    return replace(prompt, gain=max(fitting))


def right_buckets(group: Group) -> Buckets:
    """Return the buckets of distances, by the definition of the scheme."""
    return partial(_looked_up, _case(group).truth.astype(np.int64))


def _case(group: Group) -> Case:
    """Return the case of all distances that may have different buckets."""
    reach = _reach(group)
    return case_of(group, {"relative_position": np.arange(-reach, reach + 1)})


def _reach(group: Group) -> int:
    """Return a distance beyond which all keys have the same bucket."""
    return max(LEAST_REACH, 4 * int(group.parameters["max_distance"]))


def _looked_up(buckets: Ints, relative: Ints) -> Ints:
    """Return the buckets of distances, from a list for minus its reach to its reach."""
    reach = len(buckets) // 2
    return np.asarray(buckets[np.clip(relative, -reach, reach) + reach])


def expected(
    probe: Probe, group: Group, prompt: Prompt, dtype: str, rule: Rule | None = None
) -> Scores:
    """Compute the scores of the key minus those of the neutral one, [queries, 2 heads]."""
    right = Rule(right_buckets(group))
    scores = _scores(probe, prompt, rule or right)
    unit, content = UNIT_ROUNDOFF[dtype], probe.score_of_content(prompt.gain)
    largest = float(np.abs(scores).max())
    of_score = unit * (ROUNDINGS_OF_A_SCORE * content + ROUNDINGS_OF_A_BIAS * largest)
    roundings = ROUNDINGS_OF_A_READING + is_whole(group) * ROUNDINGS_OF_A_SECOND_ATTENTION
    off_by = LOG_PROBABILITY
    if dtype == "float16":
        off_by += (1 + is_whole(group)) * FEW_DIGITS
    sums = _seen(probe, group, prompt, rule or right)
    noise = (off_by / _logits(probe, group, prompt, rule or right, sums)).sum(axis=1)
    return Scores(scores[:, 0] - scores[:, 1], of_score + roundings * unit + noise)


def _scores(probe: Probe, prompt: Prompt, rule: Rule) -> Floats:
    """Compute the scores of the key and of the neutral one, [queries, 2 keys, 2 heads]."""
    keys, queries = [prompt.key, prompt.neutral], np.array(prompt.positions)
    if rule.places is not None:
        # The decoder's text has one token more at its beginning.
        moved = prompt if prompt.total else prompt.moved(1)
        where = [rule.places(replace(moved, key=key)) for key in (moved.key, moved.neutral)]
        queries, keys = np.array(where[0][0]), [key for _, key in where]
    biases = (
        rule.bias
        * _table(probe, whole=bool(prompt.total))[
            rule.buckets(np.array(keys) - queries[:, np.newaxis])
        ]
    )
    if rule.first_alone:
        biases[1:] = 0
    content = rule.content * probe.score_of_content(prompt.gain)
    return np.asarray(biases + content * np.array([1.0, 0.0])[:, np.newaxis])


def _table(probe: Probe, *, whole: bool) -> Floats:
    assert isinstance(probe.plan, Bucketed)
    return probe.plan.table(whole=whole)


def _logits(probe: Probe, group: Group, prompt: Prompt, rule: Rule, sums: Floats) -> Floats:
    """Compute the logits that are read, [queries, 2 keys, 2 heads].

    ``sums`` are the sums over all keys that a query sees, without the score of the key.
    """
    raised = np.exp(_scores(probe, prompt, rule))
    own = 1 - np.exp(-rule.content * probe.score_of_content(prompt.gain))
    shares = raised / (sums + own * raised[:, 0])[:, np.newaxis]
    return probe.logits(prompt.gain, shares) * (probe.looked_up if is_whole(group) else 1.0)


def _seen(probe: Probe, group: Group, prompt: Prompt, rule: Rule) -> Floats:
    """Sum the exponentials of the biases of all keys that queries see, [queries, 2 heads]."""
    queries = np.array(prompt.positions)
    # A decoder's text has a start token before the first position.
    first, last = (0, prompt.total - 1) if prompt.total else (-1, queries)
    return _sums(probe, group, rule, first - queries, last - queries)


def _sums(probe: Probe, group: Group, rule: Rule, first: Ints, last: Ints) -> Floats:
    """Sum the exponentials of the biases of all distances from ``first`` to ``last``.

    Returns [distances, 2 heads].
    """
    reach = _reach(group)
    table = _table(probe, whole=is_whole(group))
    raised = np.exp(rule.bias * table[rule.buckets(np.arange(-reach, reach + 1))])
    added = np.concatenate([np.zeros((1, raised.shape[1])), raised.cumsum(axis=0)])
    within = added[np.clip(last, -reach, reach) + reach + 1]
    within = within - added[np.clip(first, -reach, reach) + reach]
    before, behind = np.maximum(-reach - first, 0), np.maximum(last - reach, 0)
    return np.asarray(within + np.outer(before, raised[0]) + np.outer(behind, raised[-1]))


def explanations(
    probe: Probe, group: Group, context: Context, found: Sequence[Measured], dtype: str
) -> Iterator[tuple[str, str, Callable[[Prompt], Scores]]]:
    """Yield the known mistakes: an id, a description, and their scores."""
    for id, words, rule in _wrong(probe, group, context, found):
        yield id, words, partial(expected, probe, group, dtype=dtype, rule=rule)


def _wrong(
    probe: Probe, group: Group, context: Context, found: Sequence[Measured]
) -> Iterator[Named]:
    """Yield the known mistakes of buckets and of their use."""
    right, case = right_buckets(group), _case(group)
    yield "bias-missing", "matches no bias at all", Rule(right, bias=0.0)
    last = int(group.parameters["num_buckets"]) - 1
    for id, model in case.knowledge.deviations.items():
        for made in model(case, case.truth):
            buckets = np.clip(made.output, 0, last).astype(np.int64)
            words = made.explanation
            if id == "direction-swapped" and not is_whole(group):
                words += ", or half as many buckets"
            yield id, words, Rule(partial(_looked_up, buckets))
    part, other = ("encoder", "decoder") if is_whole(group) else ("decoder", "encoder")
    words = f"matches the table of the {other} in the {part}"
    yield "table-of-another", words, Rule(lambda relative: last - right(relative))
    halved, doubled = (last + 1) // 2, 2 * (last + 1)
    words = f"matches {halved} buckets; there are {last + 1}"
    yield "number-of-buckets", words, Rule(_of_count(group, halved, last))
    words = f"matches {doubled} buckets, the later ones cut to the last of {last + 1}"
    yield "number-of-buckets", words, Rule(_of_count(group, doubled, last))
    if not is_whole(group):
        yield "bias-missing-later", f"matches {LOST_LATER}", Rule(right, first_alone=True)
    for id, words, places in wrong_places(context, writes=not is_whole(group)):
        yield id, f"matches {words}", Rule(right, places=places)
    yield from _multiplied(probe, right, found[0])


def _of_count(group: Group, count: int, last: int) -> Buckets:
    """Return the buckets of another number of them, those beyond ``last`` cut to it."""
    other = right_buckets(replace(group, parameters={**group.parameters, "num_buckets": count}))
    return lambda relative: np.minimum(other(relative), last)


def _multiplied(probe: Probe, right: Buckets, first: Measured) -> Iterator[Named]:
    """Yield scores, biases or both multiplied by a number that is fitted to the measurement.

    A measured value is the sum of a score, which is the same for all, and of a difference of
    biases.
    """
    if not np.isfinite(first.values).all():
        return
    content = probe.score_of_content(first.prompt.gain)
    both = _scores(probe, first.prompt, Rule(right, content=0.0))
    biases = (both[:, 0] - both[:, 1]).ravel()
    parts = np.stack([np.full_like(biases, content), biases], axis=1)
    of_score, of_bias = map(float, np.linalg.lstsq(parts, first.values.ravel())[0])
    words = f"matches scores that are multiplied by {apart(of_score, 1)[0]}; T5's are as they are"
    yield "scores-multiplied", words, Rule(right, content=of_score)
    words = f"matches biases that are multiplied by {apart(of_bias, 1)[0]}"
    yield "scores-multiplied", words, Rule(right, bias=of_bias)
    words = f"matches scores and biases that are multiplied by {apart(of_bias, 1)[0]}"
    yield "scores-multiplied", words, Rule(right, content=of_bias, bias=of_bias)


def described(probe: Probe, group: Group, prompt: Prompt, row: int, scores: Floats) -> str:
    """Describe a query's scores by the bucket that they encode if the neutral one is right."""
    assert isinstance(probe.plan, Bucketed)
    if np.isneginf(scores).any():
        return "the key is not seen"
    neutral = _scores(probe, prompt, Rule(right_buckets(group)))[row, 1]
    biases = scores + neutral - probe.score_of_content(prompt.gain)
    bucket = probe.plan.bucket(biases, whole=is_whole(group))
    first, second = map(float, scores)
    encoded = "scores of no bucket" if bucket is None else f"bucket {bucket}"
    return f"{encoded}: scores {first:.6g} and {second:.6g} above those of the neutral key"
