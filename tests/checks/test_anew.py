"""New instances show what earlier calls, in a wider dtype or at later positions, would hide."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.judge.arrays import round_to
from posenc_lab.judging import failed, judge
from posenc_lab.miniatures.styles import Array, rotate_half

DTYPES = ["float32", "bfloat16", "float16"]


class Growing:
    """RoPE with a table of e^(iθ) for each width and base, which grows when it is too short."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, float], Array] = {}

    @claims("half", dtype=DTYPES)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        key = x.shape[-1], base
        needed = int(np.max(positions, initial=-1)) + 1
        while self.is_short(self.tables.get(key), needed):
            self.tables[key] = self.table(needed, str(x.dtype), *key)
        rows = np.minimum(np.asarray(positions), len(self.tables[key]) - 1)
        waves = np.tile(self.tables[key][rows], 2)
        wide = x.astype(np.float64)
        out = wide * waves.real + rotate_half(wide) * waves.imag
        return np.asarray(out, x.dtype)

    def is_short(self, table: Array | None, needed: int) -> bool:
        return table is None or len(table) < needed

    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        return self.of_places(np.arange(rows), dim, base)

    def of_places(self, places: Array, dim: int, base: float) -> Array:
        return np.exp(1j * np.outer(places, base ** (-np.arange(0, dim, 2) / dim)))


class CountsInItsDtype(Growing):
    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        places = round_to(np.arange(max(rows, 1024.0)), dtype if rows > 1024 else "float32")
        return self.of_places(places, dim, base)


class KeepsItsDtype(Growing):
    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        waves = super().table(max(rows, 4096), dtype, dim, base)
        if rows <= 4096:
            return waves
        return np.asarray(round_to(waves.real, dtype) + 1j * round_to(waves.imag, dtype))


class OneRowShort(Growing):
    def is_short(self, table: Array | None, needed: int) -> bool:
        return table is None or len(table) + 1 < needed


class ShortAtFirst(Growing):
    """The row after the initial ones is not made: ``>`` stands for ``>=``."""

    def is_short(self, table: Array | None, needed: int) -> bool:
        return table is None or len(table) < needed - (len(table) == 1024)

    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        return super().table(rows if (dim, base) in self.tables else 1024, dtype, dim, base)


class GrowsByOneRow(Growing):
    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        return super().table(max(rows, 1), dtype, dim, base)


class Doubles(Growing):
    def table(self, rows: int, dtype: str, dim: int, base: float) -> Array:
        return super().table(2 * rows + 1, dtype, dim, base)


def found(adapter: object) -> dict[str, str]:
    """Return the first line of each failed check."""
    verdicts = judge(adapter, ("smoke", "golden", "behaviour", "precision"))
    return {verdict.check.id: verdict.text.splitlines()[0] for verdict in failed(verdicts)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (CountsInItsDtype, "matches positions in bfloat16 [low-precision-angles;"),
        (KeepsItsDtype, "something of the first call is kept in its dtype: after one in bfloat16"),
        (OneRowShort, "a table is one row too short: wrong at the position after the last call's"),
        (
            ShortAtFirst,
            "a table is too short at first: right only after calls at later positions",
        ),
    ],
)
def test_what_earlier_calls_hide_is_seen(make: Any, words: str) -> None:
    seen = found(make())
    assert list(seen) == ["after-others[rope-half]"]
    assert seen["after-others[rope-half]"].startswith(words)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Growing, GrowsByOneRow, Doubles])
def test_tables_that_grow_in_time_are_right(make: Any) -> None:
    assert not found(make())


class Normed:
    """Rotated queries and keys of which each row has a mean square of 1."""

    @claims("normed-half", dtype=["float32", "float16"])
    def qk_norm_rope(
        self,
        q: Array,
        k: Array,
        q_weight: Array,
        k_weight: Array,
        positions: Array,
        *,
        eps: float,
        base: float,
    ) -> Array:
        normed = [self.normed(x, eps) * w for x, w in ((q, q_weight), (k, k_weight))]
        wide = np.concatenate(normed)
        dim = wide.shape[-1]
        angles = np.tile(np.outer(positions, base ** (-np.arange(0, dim, 2) / dim)), 2)
        out = wide * np.cos(angles) + rotate_half(wide) * np.sin(angles)
        return np.asarray(out, q.dtype)

    def normed(self, x: Array, eps: float) -> Array:
        squares = self.squares(x).astype(np.float64)
        return np.asarray(x / np.sqrt(squares.mean(-1, keepdims=True) + eps))

    def squares(self, x: Array) -> Array:
        return np.asarray(x.astype(np.float64) ** 2)


class Overflows(Normed):
    def squares(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(x**2)


class Flushes(Normed):
    def squares(self, x: Array) -> Array:
        squares = super().squares(x)
        return np.where(squares < np.finfo(x.dtype).tiny, 0, squares)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "check"), [(Overflows, "large-values"), (Flushes, "small-values"), (Normed, None)]
)
def test_squares_must_fit_float16(make: Any, check: str | None) -> None:
    seen = found(make())
    words = "wrong only for numbers whose squares are too large or too small for float16"
    assert seen == ({f"{check}[qk_norm_rope-normed-half]": words} if check else {})
