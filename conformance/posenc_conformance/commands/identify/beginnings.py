"""Identify a part of a longer list or row: the first printed numbers, perhaps also the last.

A few numbers fit a short list of an unusual base as well as the beginning of a usual list. So only
usual lists are tried: those of released models, and those of common bases and widths.
"""

from collections.abc import Iterator

import numpy as np

import posenc
from posenc_conformance.commands.identify.frequency_rules import (
    ANGLE,
    ROUNDING,
    USUAL,
    Rule,
    allowance,
    geometric,
    of_models,
    widths_of_models,
    with_models,
)
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, Floats

PAIRS = (64, 32, 128, 48, 40)
"""Common numbers of rotated pairs, the most common first."""
DIMS = (512, 768, 1024, 256, 128, 64)
"""Common widths of sinusoids, the most common first."""
ROWS = 2048
"""Positions below this are searched for a row of a sinusoid."""
LEAST = 3
"""Fewest numbers that are identified."""
MOST = 5
"""Most answers that are returned."""
SHOWN = 6


def beginnings(array: Array, dtype: str, grain: float | Floats, left_out: int) -> list[str]:
    """Return lines on longer lists of which ``array`` may be a part, the usual ones first.

    ``array`` has one axis. ``left_out`` is the number of values before those that printing left
    out, or 0 if it left out none. ``grain`` is the error that printing may have added to each
    value.
    """
    values = np.asarray(array, np.float64)
    if values.ndim != 1 or len(values) < LEAST or not np.isfinite(values).all():
        return []
    if 0 < values[0] <= 1 and (np.diff(values) < 0).all() and values[-1] >= 0:
        return list(_of_frequencies(values, dtype, grain, left_out))[:MOST]
    if np.abs(values).max() <= 1:
        return list(_of_sinusoids(values, dtype, grain, left_out))[:MOST]
    return []


def _part(whole: Array, count: int, left_out: int) -> Array:
    """Return the values of a list that printing shows if it leaves out the others."""
    head = left_out or count
    last = whole.shape[-1] - (count - head)
    return np.concatenate([whole[..., :head], whole[..., last:]], axis=-1)


def _shown(count: int, left_out: int) -> str:
    if left_out:
        return f"the first {left_out} and the last {count - left_out}"
    return f"the first {count}"


def _of_frequencies(
    values: Floats, dtype: str, grain: float | Floats, left_out: int
) -> Iterator[str]:
    matches: dict[tuple[int, str, str], list[str]] = {}
    for pairs, rule in _usual_rules(len(values)):
        part = _part(rule.frequencies, len(values), left_out)
        if (np.abs(values - part) <= allowance(part, dtype) + grain).all():
            matches.setdefault((pairs, rule.scheme, rule.words), []).extend(rule.models)
    # Lists that many models use come first, since they are likelier; others keep their order.
    for (pairs, scheme, words), models in sorted(matches.items(), key=lambda it: -len(it[1])):
        text = (
            f"{scheme}: {_shown(len(values), left_out)} of {pairs} inverse frequencies "
            f"({words}, rotary_dim {2 * pairs})"
        )
        more = f" and {len(models) - SHOWN} more" if len(models) > SHOWN else ""
        yield text + (f"\n  as in {', '.join(models[:SHOWN])}{more}" if models else "")


def _usual_rules(count: int) -> Iterator[tuple[int, Rule]]:
    """Yield the rules of longer lists, those with usual bases first."""
    for pairs in dict.fromkeys((*PAIRS, *widths_of_models())):
        if pairs <= count:
            continue
        plain = [Rule("rope", f"base {base:.9g}", geometric(base, pairs)) for base in USUAL]
        usual = [with_models(rule) for rule in plain]
        yield from ((pairs, rule) for rule in usual if pairs in PAIRS or rule.models)
        told = {title for rule in usual for title in rule.models}
        others = (rule for rule in of_models(pairs) if not told & set(rule.models))
        yield from ((pairs, rule) for rule in others)


def _of_sinusoids(
    values: Floats, dtype: str, grain: float | Floats, left_out: int
) -> Iterator[str]:
    places = np.arange(1, ROWS)  # at position 0, all rows are alike
    u = UNIT_ROUNDOFF[dtype]
    single = UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
    lost = (ROUNDING * u + 16 * ANGLE * single * places)[:, None] + grain
    count = len(values)
    whole = () if left_out or count % 2 else (count,)
    for dim in (*whole, *(width for width in DIMS if width > count)):
        rows = _part(posenc.sinusoidal(places, dim), len(values), left_out)
        for place in places[(np.abs(rows - values) <= lost).all(axis=1)]:
            part = "a row" if dim == count else _shown(count, left_out)
            yield f"sinusoidal: {part} of {dim} channels at position {place} (base 10000)"
