"""Wrong implementations: query and key projections permuted to another layout."""

from collections.abc import Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Permuted(Mistake, steps=True):
    """Rows of each head moved to their new places, in steps."""

    call = "permute_qk"
    claimed = ("to-half",)
    limits: ClassVar[Mapping[str, Any]] = {"rotation": "partial"}

    def answer(
        self,
        q: Array,
        k: Array,
        heads: int,
        key_heads: int,
        *,
        direction: str,
        rotary_dim: int | None = None,
    ) -> Array:
        size = len(q) // heads
        if len(q) != heads * size or len(k) != key_heads * size or size % 2:
            raise ValueError((q.shape, k.shape, heads, key_heads))
        heads, key_heads = self.counted(heads, key_heads)
        queries = self.moved(q, heads, direction, rotary_dim)
        return np.concatenate([queries, self.keys(k, key_heads, direction, rotary_dim)])

    def counted(self, heads: int, key_heads: int) -> tuple[int, int]:
        return heads, key_heads

    def keys(self, k: Array, heads: int, direction: str, rotary_dim: int | None) -> Array:
        return self.moved(k, heads, direction, rotary_dim)

    def moved(self, rows: Array, heads: int, direction: str, rotary_dim: int | None) -> Array:
        size = len(rows) // heads
        width = self.width(rotary_dim or size, size)
        place = self.places(width, direction)
        out = rows.copy()
        for head in range(heads):
            for old in range(width):
                out[head * size + place[old]] = rows[head * size + old]
        return out

    def width(self, width: int, size: int) -> int:
        return min(width, size)

    def places(self, width: int, direction: str) -> list[int]:
        """Return the new place of each row of a head."""
        half = width // 2
        if direction == "interleaved-to-half":
            return [old // 2 + half * (old % 2) for old in range(width)]
        return [2 * (old % half) + old // half for old in range(width)]


class PermutedBias(Permuted, steps=True):
    """Biases of each head moved to their new places, in steps."""

    call = "permute_qk_bias"


def _other(direction: str) -> str:
    return "-to-".join(reversed(direction.split("-to-")))


for _base in (Permuted, PermutedBias):
    for _claimed in ("to-half", "to-interleaved"):
        for _name, _named, _attributes in (
            ("key heads", "key-heads-as-query-heads", {"counted": lambda self, h, k: (h, h)}),
            (
                "query heads",
                "key-heads-as-query-heads",
                {
                    "counted": lambda self, h, k: (k, k),
                    "limits": {"rotation": "partial", "key_heads": 2},
                },
            ),
            (
                "heads divided",
                "key-heads-as-query-heads",
                {"counted": lambda self, h, k: (h, h if h == k else h // k)},
            ),
            ("one head", "heads-ignored", {"counted": lambda self, h, k: (1, 1)}),
            ("queries alone", "only-one-permuted", {"keys": lambda self, k, *_: k}),
            (
                "other way",
                "inverse-permutation",
                {
                    "moved": lambda self, rows, heads, direction, width: Permuted.moved(
                        self, rows, heads, _other(direction), width
                    )
                },
            ),
            ("not at all", "not-permuted", {"moved": lambda self, rows, *_: rows}),
            ("whole head", "partial-ignored", {"width": lambda self, width, size: size}),
        ):
            made(
                _base,
                f"{_base.__name__} {_claimed} {_name}",
                "Rows in another order.",
                named=_named,
                claimed=(_claimed,),
                **_attributes,
            )


class PermutedKeysAlone(Permuted):
    """Only the keys are permuted."""

    named = "only-one-permuted"

    def answer(self, q: Array, k: Array, *counts: int, **keywords: Any) -> Array:
        return np.concatenate([q, super().answer(q, k, *counts, **keywords)[len(q) :]])


class PermutedColumns(Permuted):
    """Columns are permuted, as in a transposed weight, if their number allows it."""

    named = "columns-permuted"
    limits: ClassVar[Mapping[str, Any]] = {}

    def answer(self, q: Array, k: Array, heads: int, key_heads: int, **keywords: Any) -> Array:
        right = super().answer(q, k, heads, key_heads, **keywords)
        if q.shape[1] % (2 * heads):
            return right
        direction, none = keywords["direction"], None
        moved = [self.moved(w.T, n, direction, none).T for w, n in ((q, heads), (k, key_heads))]
        return np.concatenate(moved)


class PermutedInPairsBackwards(Permuted):
    """The second members of pairs precede the first ones."""

    def places(self, width: int, direction: str) -> list[int]:
        return [(place + width // 2) % width for place in super().places(width, direction)]


class PermutedUpTo128(Permuted):
    """Only the first 128 channels of a head are permuted."""

    limits: ClassVar[Mapping[str, Any]] = {}

    def width(self, width: int, size: int) -> int:
        return min(width, 128)


class PermutedThroughBfloat16(Permuted):
    """Weights are rounded to bfloat16, as in a checkpoint of that dtype."""

    def moved(self, rows: Array, heads: int, direction: str, rotary_dim: int | None) -> Array:
        narrow = rows.astype(ml_dtypes.bfloat16).astype(rows.dtype)
        return super().moved(narrow, heads, direction, rotary_dim)
