"""Lengths, frequencies or waves of pairs that are near the right ones, read from results."""

from collections.abc import Sequence

import numpy as np

from posenc_conformance.diagnose.heads import wrong_parts
from posenc_conformance.diagnose.rotation_tables import FACTOR, Waves, read_turning, read_waves
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

NEAR = 0.02
"""Largest error of cosines and sines that are inexact, and not others."""
ALONG = 4
"""Largest error of lengths relative to that of angles, both of inexact cosines and sines. Errors
that do not depend on the angle point in any direction, so that the two are of one size."""
INEXACT = "the functions, or the angles given to them, are inexact"
LARGEST = 2**15
"""Largest result, in values, whose cosines and sines are read where nothing else describes it."""


def describe_inexact(wrong: Sequence[tuple[Case, Floats]]) -> str:
    """Say how far lengths of pairs, their frequencies, or cosines and sines are off.

    Empty if results do not tell which, or if cosines and sines are not near.
    """
    parts = [part for answer in wrong for part in wrong_parts(*answer)]
    if any(output.size > LARGEST for *_, output in parts):
        return ""
    turned = [(case, output, read_turning(case)) for _, case, output in parts]
    read = [read_waves(case, output, table) if table else None for case, output, table in turned]
    waves = [each for each in read if each is not None]
    if not waves or len(waves) < len(read):
        return ""
    if lengths := _describe_lengths(waves):
        return lengths
    rates = [_rates(case, each) for (case, *_), each in zip(turned, waves, strict=True)]
    known = [rate for rate in rates if rate is not None]
    if len(known) == len(rates):  # as any error of a single row
        per = f"by up to {max(known):.2g} radians per position"
        words = f"angles are off in proportion to the position, {per}: frequencies are wrong"
        return words if max(known) else ""
    return _describe_functions(waves)


def _describe_lengths(waves: Sequence[Waves]) -> str:
    """Say how long pairs are; empty if their angles are wrong, or their lengths right."""
    longer = [each.longer for each in waves]
    low, high = min(each.min() for each in longer), max(each.max() for each in longer)
    if max(1 - low, high - 1) <= FACTOR or not all(
        (np.abs(each.ahead) <= each.allowed).all() for each in waves
    ):
        return ""
    by_row, by_pair = (
        all((np.ptp(each, axis=axis) <= FACTOR).all() for each in longer) for axis in (-1, 0)
    )
    of_row, of_pair = ", all pairs of a row alike" * by_row, ", in every row alike" * by_pair
    return (
        f"pairs are {low:.4g} to {high:.4g} times as long as they should be{of_row}{of_pair}: "
        "the scale is wrong, not the angles"
    )


def _rates(case: Case, waves: Waves) -> float | None:
    """Return the largest error of an angle per position if errors are proportional to positions.

    None if they are not; 0 if the rows cannot show it.
    """
    positions = case.arguments.get("positions")
    if positions is None or positions.shape != waves.cos.shape[:1]:
        return None
    places = positions.astype(np.float64)[:, None]
    rate = (places * waves.ahead).sum(axis=0) / max((places**2).sum(), 1)
    fits = np.abs(waves.ahead - places * rate) <= waves.allowed
    if not fits.all() or (np.abs(waves.longer - 1) > waves.allowed).any():
        return None
    is_shown = len(np.unique(positions[positions != 0])) > 1
    return float(np.abs(rate).max()) if is_shown else 0.0


def _describe_functions(waves: Sequence[Waves]) -> str:
    """Say how far cosines and sines are off at most; empty if they are not near."""
    of_cos, of_sin = (
        max(float(np.abs(found - asked).max()) for found, asked in both)
        for both in (
            [(each.cos, each.cos_asked) for each in waves],
            [(each.sin, each.sin_asked) for each in waves],
        )
    )
    along = max(float(np.abs(each.longer - 1).max()) for each in waves)
    across = max(float(np.abs(each.ahead).max()) for each in waves)
    if max(of_cos, of_sin) > NEAR or along > ALONG * across:
        return ""
    return f"cosines are off by up to {of_cos:.1e} and sines by up to {of_sin:.1e}: {INEXACT}"


def unless_larger(words: str, answers: Sequence[tuple[Case, Floats]]) -> str:
    """Return words of ``describe_inexact``; empty if results have errors that contradict them."""
    near = [
        np.abs(output - case.truth) <= np.sqrt(2) * NEAR * case.terms.scale + case.bound
        for case, output in answers
        if words.endswith(INEXACT)
    ]
    return words if all(each.all() for each in near) else ""
