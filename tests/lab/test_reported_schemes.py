"""Implementations with the mistakes of public reports, judged by their scheme, and named.

Each wrong one derives from a right one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.checks import LEVELS
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import Verdict, diagnoses, failed, judge, schemes

pytestmark = pytest.mark.remembered(shipped=True)


class Grows:
    """Dynamic NTK, whose base grows with the text, in the half layout and float32."""

    @claims("half", dtype="float32", max_position=2**20)
    def dynamic_ntk(self, x: Array, positions: Array, **given: Any) -> Array:
        width = x.shape[-1]
        base = self.base(width, **{name: given[name] for name in given if name != "layout"})
        omega = base ** (-np.arange(0, width, 2) / width)
        angles = (self.placed(positions, **given)[:, None] * omega).astype(np.float32)
        first, second = x[..., : width // 2], x[..., width // 2 :]
        cos, sin = np.cos(angles), np.sin(angles)
        turned = [first * cos - second * sin, second * cos + first * sin]
        return np.concatenate(turned, axis=-1).astype(x.dtype)

    def placed(self, positions: Array, **given: Any) -> Array:
        del given
        return positions

    def stretch(self, factor: float, original: int, length: int) -> float:
        return factor * max(length, original) / original - (factor - 1)

    def base(
        self,
        width: int,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> float:
        grown = self.stretch(factor, original_max_position_embeddings, length)
        return float(base * grown ** (width / (width - 2)))


class NeverGrows(Grows):
    def stretch(self, factor: float, original: int, length: int) -> float:
        return 1.0


class AlwaysLarge(Grows):
    """Dynamic NTK as if every text had the length that the factor stretches to."""

    def stretch(self, factor: float, original: int, length: int) -> float:
        return super().stretch(factor, original, int(factor * original))


class PositionsToo(Grows):
    """Dynamic NTK that doubles positions as well."""

    def placed(self, positions: Array, **given: Any) -> Array:
        return positions * 2.0


class TwiceTheFactor(Grows):
    def stretch(self, factor: float, original: int, length: int) -> float:
        return super().stretch(2 * factor, original, length)


class Resampled:
    """A table of patches, resampled to another grid."""

    @claims("siglip", "timm", dtype="float32")
    def learned_grid(self, table: Array, height: int, width: int, **given: Any) -> Array:
        return np.asarray(posenc.learned_grid(table, height, width, **given))


class ByLines(Resampled):
    """Linear resampling, between the corners or between the middles of patches."""

    corners: ClassVar[bool] = True
    filters: ClassVar[bool] = False

    @claims("siglip", dtype="float32")
    def learned_grid(self, table: Array, height: int, width: int, **given: Any) -> Array:
        side = round(len(table) ** 0.5)
        grid = table.reshape(side, side, -1)
        down, across = self.matrix(height, side), self.matrix(width, side)
        resampled = np.einsum("hi,wj,ijd->hwd", down, across, grid)
        return np.asarray(resampled.reshape(height * width, -1), table.dtype)

    def matrix(self, count: int, side: int) -> Array:
        middle = (np.arange(count) + 0.5) * side / count - 0.5
        ends = np.arange(count) * (side - 1) / max(count - 1, 1)
        place = ends if self.corners else np.clip(middle, 0, side - 1)
        reach = max(1.0, side / count) if self.filters else 1.0
        weight = np.clip(1 - np.abs(place[:, None] - np.arange(side)) / reach, 0, None)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))


class ByMiddles(ByLines):
    """Linear resampling between middles, with a class token before the patches."""

    corners = False

    @claims("timm", dtype="float32")
    def learned_grid(self, table: Array, height: int, width: int, **given: Any) -> Array:
        patches = super().learned_grid(table[1:], height, width, **given)
        return np.concatenate([table[:1], patches])


class ByFilteredMiddles(ByMiddles):
    """The same with an antialiasing filter for smaller grids."""

    filters = True


class Video:
    """Position ids of texts, images and videos."""

    @claims("largest")
    def m_rope_position_ids(self, segments: Array, **given: Any) -> Array:
        return np.asarray(posenc.m_rope_position_ids(segments, **given))


class OneTime(Video):
    """All frames of a video have the time of the first one."""

    @claims("largest")
    def m_rope_position_ids(self, segments: Array, **given: Any) -> Array:
        ids = np.array(super().m_rope_position_ids(segments, **given))
        size, start = given.get("merge_size", 1), 0
        for frames, height, width in np.asarray(segments):
            count = frames * (height // size) * (width // size) if height else frames
            if height:
                ids[0, start : start + count] = ids[0, start]
            start += count
        return ids


class Slopes:
    """Distances to the key times a slope for each head."""

    @claims("causal", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int, **given: Any) -> Array:
        ahead = (k_len - q_len + np.arange(q_len))[:, None] - np.arange(k_len)
        bias = -self.slopes(heads)[:, None, None] * ahead
        return np.where(ahead < 0, -np.inf, bias).astype(np.float32)

    def slopes(self, heads: int) -> Array:
        whole = 1 << (heads.bit_length() - 1)
        values = [2 ** (-8 * (head + 1) / whole) for head in range(whole)]
        values += [2 ** (-4 * (2 * head + 1) / whole) for head in range(heads - whole)]
        return np.array(values)


class NoSlopes(Slopes):
    def slopes(self, heads: int) -> Array:
        return np.zeros(heads)


class OfARank(Slopes):
    """Slopes as each of two ranks computes them for its own heads."""

    def slopes(self, heads: int) -> Array:
        return np.resize(super().slopes(-(-heads // 2)), heads)


class Warm:
    """Queries that grow with the position."""

    @claims("llama-4", dtype="float32", max_position=2**24)
    def query_temperature(
        self, x: Array, positions: Array, *, length: int, beta: float, **given: Any
    ) -> Array:
        factor = 1 + beta * np.log1p((positions.astype(np.float64) + 1) // length)
        return np.asarray(x * self.grown(factor)[:, None]).astype(x.dtype)

    def grown(self, factor: Array) -> Array:
        return factor


class Cold(Warm):
    def grown(self, factor: Array) -> Array:
        return np.ones_like(factor)


class WarmTwice(Warm):
    """Queries scaled twice."""

    def grown(self, factor: Array) -> Array:
        return factor * factor


@dataclass(frozen=True)
class Reported:
    """A wrong implementation, the right one that it derives from, and the expected words."""

    made: type
    right: type
    scheme: str
    said: str | None
    """Name of a mistake, or part of a description; None if it is rejected without either."""


REPORTED: Mapping[str, Reported] = {
    "never scaled": Reported(NeverGrows, Grows, "dynamic-ntk", "never-scaled"),
    "always full": Reported(AlwaysLarge, Grows, "dynamic-ntk", "always-full"),
    "positions doubled": Reported(PositionsToo, Grows, "dynamic-ntk", "positions-doubled"),
    "another factor": Reported(TwiceTheFactor, Grows, "dynamic-ntk", "base B"),
    "corners, without a class": Reported(ByLines, Resampled, "learned", "resampling-swapped"),
    "lines for a cubic": Reported(ByMiddles, Resampled, "learned", "other-kernel"),
    "filtered lines for a cubic": Reported(ByFilteredMiddles, Resampled, "learned", None),
    "one time for all frames": Reported(OneTime, Video, "m-rope", "frames-at-one-time"),
    "no bias": Reported(NoSlopes, Slopes, "alibi", None),
    "slopes of a rank": Reported(OfARank, Slopes, "alibi", "have the values of heads 1, 3, 5"),
    "no temperature": Reported(Cold, Warm, "query-temperature", "unscaled"),
    "a factor squared": Reported(WarmTwice, Warm, "query-temperature", "scaled-twice"),
}


NUMBERS = [level for level in LEVELS if level != "robust"]


def verdicts(made: type, scheme: str) -> list[Verdict]:
    return judge(made(), NUMBERS, among=[item for item in schemes() if item.id == scheme])


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_implementation_is_rejected_and_named(name: str) -> None:
    reported = REPORTED[name]
    outcomes = verdicts(reported.made, reported.scheme)
    assert failed(outcomes)
    named = diagnoses(outcomes)[:1]
    texts = named or [f"{entry.outcome.recovered} {entry.text}" for entry in failed(outcomes)]
    assert reported.said is None or any(reported.said in entry for entry in texts), texts


def test_most_are_named() -> None:
    assert sum(reported.said is not None for reported in REPORTED.values()) >= len(REPORTED) - 2


@pytest.mark.slow
@pytest.mark.parametrize("made", dict.fromkeys(entry.right for entry in REPORTED.values()))
def test_the_right_ones_behind_them_pass(made: type) -> None:
    scheme = next(entry.scheme for entry in REPORTED.values() if entry.right is made)
    outcomes = verdicts(made, scheme)
    assert outcomes
    assert not [entry.text for entry in outcomes if entry.verdict != "passed"]
