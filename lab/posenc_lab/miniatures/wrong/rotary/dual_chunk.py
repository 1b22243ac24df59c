"""Wrong implementations: dual chunk attention."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.remapped import Steps, with_common_mistakes


class DualChunk(Steps, Mistake, steps=True):
    """Three kinds of query positions, and key positions within chunks, in steps."""

    call = "dual_chunk_scores"
    claimed = ("half", "interleaved")

    def refuse(self, *, chunk_size: int, local_size: int) -> None:
        if not 0 <= local_size < chunk_size:
            raise ValueError(f"{local_size} of {chunk_size}")

    def distance(self, query: Array, key: Array, *, chunk_size: int, local_size: int) -> Array:
        length, largest = self.length(chunk_size, local_size), self.largest(chunk_size)
        apart = query // length - key // length
        successive = self.successive(query, length, largest)
        constant = self.constant(query, length, largest)
        other = np.where(self.is_next(apart), successive, constant) - self.inside(key, length)
        return np.where(apart > 0, other, query - key)

    def length(self, chunk_size: int, local_size: int) -> int:
        return chunk_size - local_size

    def largest(self, chunk_size: int) -> int:
        return chunk_size

    def is_next(self, apart: Array) -> Array:
        return np.asarray(apart == 1)

    def inside(self, key: Array, length: int) -> Array:
        return key % length

    def successive(self, query: Array, length: int, largest: int) -> Array:
        return np.minimum(query % length + length, largest)

    def constant(self, query: Array, length: int, largest: int) -> Array:
        return np.minimum(query * 0 + 2 * length - 1, largest)


ANY = ("half", "interleaved")
for _claimed, _other in (("half", "interleaved"), ("interleaved", "half")):
    with_common_mistakes(DualChunk, _claimed, _other)
STEPS_OF: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("up to one less", "limit-off-by-one", {"largest": lambda self, size: size - 1}),
    ("up to one more", "limit-off-by-one", {"largest": lambda self, size: size + 1}),
    (
        "not held for the chunk before",
        "not-clamped",
        {"successive": lambda self, query, length, largest: query % length + length},
    ),
    (
        "not held at all",
        "not-clamped",
        {
            "successive": lambda self, query, length, largest: query % length + length,
            "constant": lambda self, query, length, largest: query % length + largest,
        },
    ),
    (
        "without successive chunks",
        "successive-missing",
        {"is_next": lambda self, apart: np.zeros(apart.shape, dtype=bool)},
    ),
    (
        "with all chunks successive",
        "far-as-successive",
        {"is_next": lambda self, apart: apart > 0},
    ),
    (
        "with whole chunks",
        "chunks-of-chunk-size",
        {"length": lambda self, chunk_size, local_size: chunk_size},
    ),
    ("with keys counted on", "keys-counted-on", {"inside": lambda self, key, length: key}),
    (
        "with chunks of what is local",
        None,
        {"length": lambda self, chunk_size, local_size: max(1, local_size)},
    ),
    (
        "with far queries at the border",
        None,
        {"constant": lambda self, query, length, largest: query * 0 + length},
    ),
)
for _name, _named, _steps in STEPS_OF:
    made(
        DualChunk, f"DualChunk {_name}", "One step otherwise.", named=_named, claimed=ANY, **_steps
    )
