"""Wrong implementations: dynamic NTK scaling."""

from typing import Any

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.below import below_zero
from posenc_lab.miniatures.scaled import (
    BackwardCall,
    FrequencyCall,
    RotaryCall,
    backward_mistakes,
    plain,
    usual_mistakes,
    wrong_frequencies,
)


def stretched(dim: int, base: float, stretch: float) -> Array:
    """Return the frequencies for the base times a power of ``stretch``."""
    return plain(dim, base * stretch ** (dim / (dim - 2)))


def dynamic(
    dim: int, base: float, factor: float, original_max_position_embeddings: int, length: float
) -> Array:
    """Return the frequencies for a text of ``length`` tokens."""
    ratio = max(length, original_max_position_embeddings) / original_max_position_embeddings
    return stretched(dim, base, factor * ratio - (factor - 1))


class _Frequencies:
    def frequencies(self, dim: int, base: float, **own: Any) -> Array:
        return dynamic(dim, base, **own)


class DynamicFrequencies(_Frequencies, FrequencyCall, Mistake, steps=True):
    """Frequencies for the length of a text, in steps."""

    call = "dynamic_ntk_frequencies"


class Dynamic(_Frequencies, RotaryCall, Mistake, steps=True):
    """Pairs rotated at the frequencies for the length of the text, in steps."""

    call = "dynamic_ntk"


CALLS = (DynamicFrequencies, Dynamic)
usual_mistakes(CALLS)

wrong_frequencies(
    CALLS, "never", "No scaling.", lambda dim, base, **own: plain(dim, base), "never-scaled"
)
wrong_frequencies(
    CALLS,
    "always",
    "The base of the longest context, from the start.",
    lambda dim, base, factor, original_max_position_embeddings, length: dynamic(
        dim,
        base,
        factor,
        original_max_position_embeddings,
        original_max_position_embeddings * factor,
    ),
    "always-full",
)
wrong_frequencies(
    CALLS,
    "without power",
    "The base times the stretch.",
    lambda dim, base, factor, original_max_position_embeddings, length: plain(
        dim, base * max(factor * length / original_max_position_embeddings - (factor - 1), 1)
    ),
    "exponent-missing",
)
wrong_frequencies(
    CALLS,
    "by the ratio",
    "The length over the original length.",
    lambda dim, base, factor, original_max_position_embeddings, length: stretched(
        dim, base, max(length / original_max_position_embeddings, 1)
    ),
    "ratio-alone",
)
wrong_frequencies(
    CALLS,
    "with a jump",
    "The difference factor - 1 forgotten.",
    lambda dim, base, factor, original_max_position_embeddings, length: stretched(
        dim,
        base,
        factor * length / original_max_position_embeddings
        if length > original_max_position_embeddings
        else 1,
    ),
    "ratio-alone",
)
wrong_frequencies(
    CALLS,
    "doubled",
    "Positions scaled by 2 on top.",
    lambda dim, base, **own: 2 * dynamic(dim, base, **own),
    "positions-doubled",
)
wrong_frequencies(
    CALLS,
    "doubled for the factor",
    "A hard-coded 2 for the scale of positions and for the factor.",
    lambda dim, base, factor, **own: 2 * dynamic(dim, base, 2.0, **own),
    "positions-doubled",
)
wrong_frequencies(
    CALLS,
    "shrinking",
    "Lengths below the original one make the base smaller.",
    lambda dim, base, factor, original_max_position_embeddings, length: stretched(
        dim, base, max(factor * length / original_max_position_embeddings - (factor - 1), 0.1)
    ),
)
wrong_frequencies(
    CALLS,
    "one longer",
    "The last position taken for the length.",
    lambda dim, base, length, **own: dynamic(dim, base, length=0.99 * length, **own),
)


def longest(right: Any) -> Any:
    """Return a ``frequencies`` method that uses the longest length so far."""

    def frequencies(self: Any, dim: int, base: float, *, length: int, **own: Any) -> Array:
        self.longest = max(getattr(self, "longest", 0), length)
        return right.frequencies(self, dim, base, length=self.longest, **own)

    return frequencies


def restored_when_short(right: Any) -> Any:
    """Return a method whose kept length resets only below the original one, as in transformers."""

    def frequencies(
        self: Any,
        dim: int,
        base: float,
        *,
        length: int,
        original_max_position_embeddings: int,
        **own: Any,
    ) -> Array:
        key = dim, base, original_max_position_embeddings, *own.values()
        seen = self.__dict__.setdefault("seen", {})
        seen[key] = max(seen.get(key, 0), length)
        if length < original_max_position_embeddings:
            seen[key] = length
        own["original_max_position_embeddings"] = original_max_position_embeddings
        return right.frequencies(self, dim, base, length=seen[key], **own)

    return frequencies


for _right in CALLS:
    made(
        _right,
        f"{_right.__name__} keeps the longest",
        "Never restored after a long sequence.",
        named="kept-length",
        frequencies=longest(_right),
    )
    made(
        _right,
        f"{_right.__name__} restored when short",
        "Restored after a long sequence only by one below the original length.",
        named="kept-length",
        frequencies=restored_when_short(_right),
    )


class DynamicBack(_Frequencies, BackwardCall, Mistake, steps=True):
    """Upstream gradients rotated back at the same frequencies, in steps."""

    call = "dynamic_ntk_vjp"


backward_mistakes(DynamicBack)

below_zero(Dynamic, "interleaved")
below_zero(DynamicBack, "interleaved")
