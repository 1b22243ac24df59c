"""Wrong biases that are linear in distance, and what can be read of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.instruments.alibi_instrument import (
    Linear,
    expected,
    factor,
    of_steps,
)
from posenc_conformance.deployed.instruments.alibi_slopes import slopes
from posenc_conformance.deployed.measure import Measured, least_read
from posenc_conformance.deployed.position_errors import SIZES, wrong_places
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats, Ints, round_to
from posenc_conformance.models.meaning import Context, Group

COUNTS = (*range(1, 33), 40, 48, 56, 64, 71, 80, 96, 112, 128)
"""Numbers of heads of released models, and fractions of them."""
LISTED = 4
"""Number of heads that a description lists."""
UNCLEAR = 5.0
"""Least distance of a bias from the logarithm of the smallest share: one that is nearer may have
been cut off, since neutral keys have shares of 1/150 and more."""

Named = tuple[str, str, Linear]


def explanations(
    probe: Probe, group: Group, context: Context, found: Sequence[Measured], dtype: str
) -> Iterator[tuple[str, str, Callable[[Prompt], Scores]]]:
    """Yield the known mistakes: an id, a description, and their scores."""
    for id, words, bias in (*_wrong(group), *_at_other_places(group, context)):
        yield id, f"matches {words}", partial(expected, probe, group, dtype=dtype, bias=bias)
    got, scores = found[0].values, expected(probe, group, found[0].prompt, dtype)
    weights = scores.bound**-2.0
    square = float((weights * scores.values**2).sum())
    ratio = float((weights * got * scores.values).sum()) / square
    bias = Linear(ratio * slopes(group))
    words = f"matches biases that are multiplied by {apart(ratio, 1)[0]}"
    scaled = partial(expected, probe, group, dtype=dtype, bias=bias)
    yield "scores-multiplied", words, scaled
    for id, words, bias in _readable(probe, group, found, dtype):
        yield id, words, partial(expected, probe, group, dtype=dtype, bias=bias)


def _wrong(group: Group) -> Iterator[Named]:
    """Yield the known mistakes of biases."""
    heads, own = int(group.parameters["heads"]), slopes(group)
    yield "bias-missing", "no bias at all", Linear(0 * own)
    yield "bias-reversed", "a bias that grows with the distance", Linear(-own)
    if heads & (heads - 1):
        uniform = slopes(replace(group, combination="causal-uniform"))
        words = "slopes 2^(-8(h+1)/heads) for any number of heads"
        yield "slopes-uniform", words, Linear(uniform)
        words = "slopes of the next power of two, in their order"
        yield "slopes-of-next-power", words, Linear(_slopes_of(group, 1 << heads.bit_length()))
    # Half or twice the number of heads is the likeliest mistake.
    for count in (2 * heads, heads // 2, *COUNTS):
        words = f"slopes of {count} heads; there are {heads}"
        if count > heads or (count and count < heads and not heads % count):
            yield "slopes-of-another-count", words, Linear(_slopes_of(group, count))
    yield "slopes-reversed", "slopes of the heads in the other order", Linear(own[::-1])
    words = "slopes that begin with 1"
    yield "slopes-from-1", words, Linear(2.0 ** (-8 * np.arange(heads) / heads))
    for most in (1, 2, 4, 16):
        words = f"slopes down to 2^-{most}, where 2^-8 is meant"
        yield "slopes-of-another-maximum", words, Linear(own ** (most / 8))
    for dtype in ("bfloat16", "float16"):
        words = f"slopes that are rounded to {dtype}"
        yield f"slopes-in-{dtype}", words, Linear(round_to(own, dtype))
        words = f"positions of keys that are rounded to {dtype}"
        yield f"positions-in-{dtype}", words, Linear(own, rounded=dtype)
    words = "no bias beside words that the engine writes"
    yield "bias-missing-later", words, Linear(own, first_alone=True)


def _at_other_places(group: Group, context: Context) -> Iterator[Named]:
    """Yield the known mistakes of positions, those of keys alone first."""
    own = slopes(group)
    for size in SIZES:
        words = f"positions of keys that start anew every {size:,} tokens"
        yield "chunks-restart", words, Linear(own, places=partial(_keys_in_chunks, size))
    for id, words, places in wrong_places(context, writes=True):
        yield id, words, Linear(own, places=places)


def _keys_in_chunks(size: int, prompt: Prompt) -> tuple[Sequence[int], int]:
    return prompt.positions, prompt.key % size


def _readable(probe: Probe, group: Group, found: Sequence[Measured], dtype: str) -> Iterator[Named]:
    """Yield mistakes whose numbers are read of the measurements: a largest distance, slopes."""
    own = slopes(group)
    for longest in sorted({_longest(probe, group, reading) for reading in found}):
        words = f"matches distances that end at {longest:,}: farther keys count as nearer ones"
        yield "distances-clamped", words, Linear(own, longest=longest)
    new = _slopes_read(probe, group, found, dtype) + 0.0  # no -0
    heads = np.flatnonzero(new != own)
    if heads.size:
        ratio = float(np.median(new[heads] / own[heads]))
        words = f"matches biases that are multiplied by {apart(ratio, 1)[0]}"
        yield "scores-multiplied", words, Linear(ratio * own)
        yield "slopes-wrong", _listed(own, new, heads), Linear(new)


def _longest(probe: Probe, group: Group, reading: Measured) -> int:
    """Return the distance that most queries give the key by their slopes."""
    queries, places = np.array(reading.prompt.positions), _places_read(probe, group, reading)
    distances, counts = np.unique(queries[:, np.newaxis] - places, return_counts=True)
    return int(distances[counts.argmax()])


def _places_read(probe: Probe, group: Group, reading: Measured) -> Floats:
    """Return the position that each query and head gives the key by its slope, [queries, 2]."""
    prompt = reading.prompt
    tiled = np.tile(factor(probe) * slopes(group), (len(prompt.positions), 1))
    return np.rint(prompt.neutral + reading.values / of_steps(probe, prompt, tiled))


def place_of_key(probe: Probe, group: Group, reading: Measured, dtype: str) -> int | None:
    """Return the only position of the key that explains a measurement, if the rest is right."""
    own, prompt = slopes(group), reading.prompt

    def at(place: int) -> Linear:
        def places(text: Prompt) -> tuple[Sequence[int], int]:
            return text.positions, place if text.key == prompt.key else text.key

        return Linear(own, places=places)

    fitting = [
        int(place)
        for place in np.unique(_places_read(probe, group, reading))
        if 0 <= place <= prompt.positions[0]
        and reading.agrees_with(expected(probe, group, prompt, dtype, at(int(place))))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _slopes_read(probe: Probe, group: Group, found: Sequence[Measured], dtype: str) -> Floats:
    """Return the slope of each head: its own if that explains what is read, else the one read.

    The most exact reading counts whose key has a share that is large enough.
    """
    new, exactness = slopes(group).copy(), np.full(len(slopes(group)), np.inf)
    for reading in found:
        prompt, right = reading.prompt, expected(probe, group, reading.prompt, dtype)
        span = factor(probe) * (prompt.key - prompt.neutral)
        clear = reading.values > np.log(least_read(probe, prompt.gain)) + UNCLEAR
        wrong = clear & (np.abs(reading.values - right.values) > right.bound)
        off = np.where(wrong, right.bound / abs(span), np.inf)
        heads = np.array([probe.plan.pairs[step] for step in prompt.measured])
        for head, slope, error in zip(
            heads.ravel(), (reading.values / span).ravel(), off.ravel(), strict=True
        ):
            if error < exactness[head]:
                new[head], exactness[head] = slope, error
    return new


def _listed(own: Floats, new: Floats, heads: Ints) -> str:
    """Describe the slopes of heads that have others than their own."""
    both = {head: apart(new[head], own[head]) for head in heads[:LISTED]}
    listed = ", ".join(f"{got} in head {head}" for head, (got, _) in both.items())
    asked = ", ".join(right for _, right in both.values())
    more = f"; {len(heads) - LISTED} more heads are wrong" if len(heads) > LISTED else ""
    return f"slopes {listed}, where {asked} were asked for{more}"


def _slopes_of(group: Group, heads: int) -> Floats:
    """Return the slopes of ``heads`` heads, cut or repeated to the group's number of heads."""
    count = int(group.parameters["heads"])
    other = slopes(replace(group, parameters={**group.parameters, "heads": heads}))
    return np.resize(other, count)
