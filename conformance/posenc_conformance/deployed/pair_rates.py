"""How fast the pairs of an engine rotate, derived from their angles at two distances."""

from collections.abc import Mapping, Sequence

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.layer_frequencies import frequencies
from posenc_conformance.models.meaning import Group

RAMPS: Mapping[str, str] = {
    "yarn": "another ramp (beta_fast, beta_slow, original length)",
    "llama3": "another ramp (low_freq_factor, high_freq_factor, original length)",
}
"""What gives single pairs other frequencies, by scheme."""
LISTED = 4
"""Number of pairs that a description lists."""


def rates(
    probe: Probe, group: Group, texts: Sequence[tuple[Measured, Scores]]
) -> Mapping[int, float] | None:
    """Return how many times as fast as it should each pair rotates that does so wrongly.

    The first text is near: its angles tell the frequencies, which the other texts must confirm.
    Returns None if they do not, or if a pair has another length.
    """
    near, right = texts[0]
    shift, off = _angles(probe, near, right)
    distances = np.array(near.prompt.distances)
    slope, slack = shift / distances, off / distances
    for measured, scores in texts:
        turned, bound = _angles(probe, measured, scores)
        count, far = len(turned), np.array(measured.prompt.distances)
        apart = np.angle(np.exp(1j * (turned - slope[:count] * far)))
        if not (np.abs(apart) <= bound + slack[:count] * far).all():
            return None
    omega = frequencies(group)
    pairs = [probe.plan.order[step] for step in near.prompt.measured]
    wrong = np.abs(slope) > slack
    return {
        pair: float(1 + change / omega[pair])
        for pair, change, is_wrong in zip(pairs, slope, wrong, strict=True)
        if is_wrong
    }


def _angles(probe: Probe, measured: Measured, right: Scores) -> tuple[Floats, Floats]:
    """Return by how much each pair is rotated too far, and the largest error of that.

    An error of a length is added to that of the angle, so that it is confirmed by no text.
    """
    got, expected = (
        (values / probe.query_sizes) @ np.array([1, -1j])
        for values in (measured.values, right.values)
    )
    off = (right.bound / probe.query_sizes).sum(axis=1)
    longer = np.abs(np.abs(got) - np.abs(expected)) > off
    with np.errstate(invalid="ignore"):
        return np.where(longer, np.inf, np.angle(got * np.conj(expected))), np.asarray(off)


def described(group: Group, changed: Mapping[int, float]) -> str:
    """Say how fast wrong pairs rotate, and what gives them such frequencies."""
    listed = ", ".join(f"{pair} by {rate:.4g}" for pair, rate in sorted(changed.items())[:LISTED])
    more = f" and {len(changed) - LISTED} more" if len(changed) > LISTED else ""
    words = f"frequencies of pairs are multiplied, {listed}{more}, and all others are right"
    ramp = RAMPS.get(group.scheme)
    return f"{words}, as with {ramp}" if ramp else words
