"""Wrong implementations: DeBERTa's disentangled attention."""

from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class SignedBuckets(Mistake, steps=True):
    """DeBERTa's released bucket rule, in steps."""

    call = "deberta_bucket"
    claimed = ("clamped",)

    def answer(
        self, relative_position: Array, *, num_buckets: int, max_relative_positions: int, far: str
    ) -> Array:
        if num_buckets < 4 or max_relative_positions < num_buckets // 2 + 2:
            raise ValueError(f"{num_buckets} buckets up to {max_relative_positions}")
        return self.bucket(relative_position, num_buckets, max_relative_positions, far)

    def bucket(self, relative: Array, buckets: int, limit: int, far: str) -> Array:
        mid = self.mid(buckets)
        distance = self.reach(np.abs(relative), limit, far)
        ratio = self.logarithm(np.maximum(distance, mid) / mid)
        ratio = ratio / self.logarithm(np.asarray((limit - 1) / mid))
        large = mid + self.whole(ratio * (mid - 1))
        signed = np.sign(relative) * np.where(distance <= mid, distance, large)
        return signed.astype(np.int64)

    def mid(self, buckets: int) -> int:
        return buckets // 2

    def reach(self, distance: Array, limit: int, far: str) -> Array:
        return np.minimum(distance, limit - 1) if far == "clamped" else distance

    def logarithm(self, ratio: Array) -> Array:
        return np.log(ratio)

    def whole(self, steps: Array) -> Array:
        return np.ceil(steps)


class Disentangled(Mistake, steps=True):
    """The three terms, each with its own index, in steps."""

    call = "deberta_scores"
    claimed = ("v1",)

    def answer(self, q: Array, k: Array, q_r: Array, k_r: Array, *, p2c_index: str) -> Array:
        return self.scores(q, k, q_r, k_r, self.relative(np.arange(q.shape[1])), p2c_index)

    def scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, relative: Array, p2c_index: str
    ) -> Array:
        span = q_r.shape[1] // 2
        if q_r.shape != k_r.shape or span < 1:
            raise ValueError(f"tables of {q_r.shape[1]} and {k_r.shape[1]} rows")
        index = self.index(relative, span)
        kind = q.dtype
        q, k, q_r, k_r = (array.astype(np.float64) for array in (q, k, q_r, k_r))
        terms = self.terms(q, k, q_r, k_r, index, self.p2c(index, p2c_index))
        return self.scale(terms, q).astype(kind)

    def relative(self, place: Array) -> Array:
        return place[:, None] - place[None, :]

    def index(self, relative: Array, span: int) -> Array:
        return np.clip(relative + span, 0, 2 * span - 1)

    def p2c(self, index: Array, p2c_index: str) -> Array:
        return index if p2c_index == "query-minus-key" else index.T

    def terms(
        self, q: Array, k: Array, q_r: Array, k_r: Array, c2p: Array, p2c: Array
    ) -> tuple[Array, Array, Array]:
        content = np.einsum("hic,hjc->hij", q, k)
        to_position = np.einsum("hic,hijc->hij", q, k_r[:, c2p])
        to_content = np.einsum("hjc,hijc->hij", k, q_r[:, p2c])
        return content, to_position, to_content

    def scale(self, terms: tuple[Array, Array, Array], q: Array) -> Array:
        return sum(terms) / np.sqrt(3 * q.shape[2])


class DisentangledBuckets(Disentangled, SignedBuckets, steps=True):
    """The three terms with bucketed distances, in steps."""

    call = "deberta_v2_scores"
    claimed = ("v2",)

    def answer(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int, far: str
    ) -> Array:
        relative = self.relative(np.arange(q.shape[1]))
        buckets = self.bucket(relative, q_r.shape[1] // 2, max_relative_positions, far)
        return self.scores(q, k, q_r, k_r, buckets, "query-minus-key")


def _narrow_log(kind: str) -> dict[str, Any]:
    def logarithm(self: Any, ratio: Array) -> Array:
        return narrow(np.log(narrow(ratio, kind)), kind)

    return {"logarithm": logarithm}


def _lifted(self: Any, steps: Array) -> Array:
    return np.ceil(steps * (1 + 2**-22))


def _with(change: Any) -> Any:
    """Return a ``bucket`` method that changes its arguments before calling the right one."""

    def bucket(self: Any, *arguments: Any) -> Array:
        return SignedBuckets.bucket(self, *change(*arguments))

    return bucket


BUCKETS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "of the opposite sign",
        "Key minus query.",
        "bucket-sign-flipped",
        {"bucket": _with(lambda r, n, limit, far: (-r, n, limit, far))},
    ),
    ("rounded down", "T5's floor.", "bucket-rounding", {"whole": lambda self, s: np.floor(s)}),
    (
        "rounded to the nearest",
        "Neither up nor down.",
        "bucket-rounding",
        {"whole": lambda self, s: np.rint(s)},
    ),
    ("lifted", "A whole number that comes out too large.", "bucket-rounding", {"whole": _lifted}),
    (
        "up to max_relative_positions",
        "A logarithm that ends at max_relative_positions.",
        "bucket-sizes",
        {
            "bucket": _with(lambda r, n, limit, far: (r, n, limit + 1, far)),
            "reach": lambda self, d, limit, far: (
                np.minimum(d, limit - 2) if far == "clamped" else d
            ),
        },
    ),
    (
        "of one direction",
        "num_buckets not halved.",
        "bucket-sizes",
        {"bucket": _with(lambda r, n, limit, far: (r, 2 * n, limit, far))},
    ),
    (
        "of 256 up to 512",
        "Both sizes ignored.",
        "bucket-sizes",
        {"bucket": _with(lambda r, n, limit, far: (r, 256, 512, far))},
    ),
    (
        "by a bfloat16 logarithm",
        "Logarithms in bfloat16.",
        "bucket-narrow-logarithm",
        _narrow_log("bfloat16"),
    ),
    (
        "by a float16 logarithm",
        "Logarithms in float16.",
        "bucket-narrow-logarithm",
        _narrow_log("float16"),
    ),
)
for _combination in ("clamped", "growing"):
    for _name, _why, _named, _steps in BUCKETS:
        made(
            SignedBuckets,
            f"Signed buckets {_combination} {_name}",
            _why,
            named=_named,
            claimed=(_combination,),
            **_steps,
        )


class SignedBucketsThatGrow(SignedBuckets):
    """Distances are not clamped."""

    named = "bucket-far-swapped"

    def reach(self, distance: Array, limit: int, far: str) -> Array:
        return distance


class SignedBucketsClamped(SignedBuckets):
    """Distances are clamped."""

    claimed = ("growing",)
    named = "bucket-far-swapped"

    def reach(self, distance: Array, limit: int, far: str) -> Array:
        return np.minimum(distance, limit - 1)


class SignedBucketsExchanged(SignedBuckets):
    """num_buckets and max_relative_positions are exchanged."""

    named = "bucket-sizes"

    def bucket(self, relative: Array, buckets: int, limit: int, far: str) -> Array:
        distance, mid = np.minimum(np.abs(relative), limit - 1), limit // 2
        with np.errstate(all="ignore"):
            steps = np.log(np.maximum(distance, mid) / mid) / np.log((buckets - 1) / mid)
            large = mid + np.ceil(steps * (mid - 1))
        return (np.sign(relative) * np.where(distance <= mid, distance, large)).astype(np.int64)


class SignedBucketsOfBytes(SignedBuckets):
    """Buckets are cast to int8."""

    def bucket(self, *arguments: Any) -> Array:
        return super().bucket(*arguments).astype(np.int8)


class SignedBucketsFromZero(SignedBuckets):
    """Buckets are shifted to table rows, which are not negative."""

    def bucket(self, relative: Array, buckets: int, limit: int, far: str) -> Array:
        return super().bucket(relative, buckets, limit, far) + buckets


class SignedBucketsUnsigned(SignedBuckets):
    """Buckets lose their sign."""

    def bucket(self, *arguments: Any) -> Array:
        return np.abs(super().bucket(*arguments))


class SignedBucketsAsFloats(SignedBuckets):
    """Buckets are float32, as the released formula leaves them."""

    def bucket(self, *arguments: Any) -> Array:
        return super().bucket(*arguments).astype(np.float32)


class SignedBucketsUneven(SignedBuckets):
    """Half of an odd number of buckets is rounded up."""

    claimed = ("growing",)

    def mid(self, buckets: int) -> int:
        return (buckets + 1) // 2


class SignedBucketsFlatten(SignedBuckets):
    """The result is flattened."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        return super().answer(relative_position.ravel(), **keywords)


class SignedBucketsInPlace(SignedBuckets):
    """The caller's distances are clamped in place."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        limit = keywords["max_relative_positions"]
        np.clip(relative_position, 1 - limit, limit - 1, out=relative_position)
        return super().answer(relative_position, **keywords)


V1, V2 = ("paper", "v1"), ("v2", "v2-transformers")


def _for_each(
    name: str, why: str, named: str, combinations: tuple[str, ...] = (*V1, *V2), **steps: Any
) -> None:
    """Register one mistake for several combinations of versions 1 and 2."""
    for combination in combinations:
        own = combination in V2 and named in ("p2c-index-swapped", "wrong-scale")
        made(
            DisentangledBuckets if combination in V2 else Disentangled,
            f"Disentangled {combination} {name}",
            why,
            named=f"v2-{named}" if own else named,
            claimed=(combination,),
            **steps,
        )


_for_each(
    "with the other index",
    "δ(j, i) in position to content where δ(i, j) belongs, or the reverse.",
    "p2c-index-swapped",
    p2c=lambda self, index, p2c_index: index.T if p2c_index == "query-minus-key" else index,
)
_for_each(
    "of the opposite sign",
    "Key minus query in both terms.",
    "sign-flipped",
    relative=lambda self, place: place[None, :] - place[:, None],
)
_for_each(
    "as usual",
    "Divided by the square root of head_dim.",
    "wrong-scale",
    scale=lambda self, terms, q: sum(terms) / np.sqrt(q.shape[2]),
)
_for_each(
    "with unscaled positions",
    "Position terms added after the division.",
    "wrong-scale",
    ("v1", "paper"),
    scale=lambda self, terms, q: terms[0] / np.sqrt(3 * q.shape[2]) + terms[1] + terms[2],
)
_for_each(
    "of two terms' divisor",
    "One position term counted.",
    "wrong-scale",
    ("v2",),
    scale=lambda self, terms, q: sum(terms) / np.sqrt(2 * q.shape[2]),
)
_for_each(
    "without position to content",
    "A term left out, with the divisor of two.",
    "terms-missing",
    ("v1", "v2-transformers"),
    scale=lambda self, terms, q: (terms[0] + terms[1]) / np.sqrt(2 * q.shape[2]),
)
_for_each(
    "without content to position",
    "A term left out, with the divisor of three.",
    "terms-missing",
    ("paper", "v2"),
    scale=lambda self, terms, q: (terms[0] + terms[2]) / np.sqrt(3 * q.shape[2]),
)


def _exchanged(self: Any, q: Array, k: Array, q_r: Array, k_r: Array, *index: Array) -> Any:
    return Disentangled.terms(self, q, k, k_r, q_r, *index)


def _one_table(self: Any, q: Array, k: Array, q_r: Array, k_r: Array, *index: Array) -> Any:
    return Disentangled.terms(self, q, k, k_r, k_r, *index)


_for_each("with exchanged tables", "Each other's table.", "tables-exchanged", terms=_exchanged)
_for_each("with one table", "k_r in both.", "tables-exchanged", ("v1", "v2"), terms=_one_table)
_for_each(
    "cut alike on both sides",
    "Row 0 never read.",
    "clip-wrong",
    ("paper", "v1"),
    index=lambda self, relative, span: np.clip(relative, 1 - span, span - 1) + span,
)
_for_each(
    "started over",
    "Rows counted round.",
    "clip-wrong",
    ("v1",),
    index=lambda self, relative, span: (relative + span) % (2 * span),
)
_for_each(
    "one row up",
    "2 span - 1 rows around the middle.",
    "rows-shifted",
    ("paper", "v1", "v2"),
    index=lambda self, relative, span: np.clip(relative + span - 1, 0, 2 * span - 1),
)
_for_each(
    "without buckets",
    "Distances as they are.",
    "buckets-missing",
    ("v2", "v2-transformers"),
    bucket=lambda self, relative, buckets, limit, far: relative,
)
_for_each(
    "with rounded-down buckets",
    "T5's floor.",
    "buckets-wrong",
    ("v2", "v2-transformers"),
    whole=lambda self, steps: np.floor(steps),
)
_for_each(
    "with buckets up to twice as far",
    "max_relative_positions counted in both directions.",
    "buckets-wrong",
    ("v2-transformers",),
    bucket=_with(lambda r, n, limit, far: (r, n, 2 * limit, far)),
)


class DisentangledGrowing(DisentangledBuckets):
    """Buckets are transformers' where the released ones are claimed."""

    claimed = ("v2",)
    named = "far-swapped"

    def reach(self, distance: Array, limit: int, far: str) -> Array:
        return distance


class DisentangledClamped(DisentangledBuckets):
    """Buckets are the released ones where transformers' are claimed."""

    claimed = ("v2-transformers",)
    named = "far-swapped"

    def reach(self, distance: Array, limit: int, far: str) -> Array:
        return np.minimum(distance, limit - 1)


class DisentangledFromTheFirstRow(Disentangled):
    """The span is at most the length, which shifts the rows of a short sequence."""

    def index(self, relative: Array, span: int) -> Array:
        return super().index(relative, min(span, len(relative)))


class DisentangledOfOneHead(DisentangledBuckets):
    """The first head's tables are used for all."""

    claimed = ("v2",)

    def answer(self, q: Array, k: Array, q_r: Array, k_r: Array, **keywords: Any) -> Array:
        q_r, k_r = (np.repeat(table[:1], len(table), axis=0) for table in (q_r, k_r))
        return super().answer(q, k, q_r, k_r, **keywords)


class DisentangledByKey(Disentangled):
    """The position-to-content term is looked up for the key and not transposed back."""

    def terms(self, *given: Any) -> tuple[Array, Array, Array]:
        content, to_position, to_content = super().terms(*given)
        return content, to_position, to_content.swapaxes(1, 2)


class DisentangledThroughBfloat16(Disentangled):
    """Scores are rounded to bfloat16 for a float32 result."""

    def scale(self, terms: tuple[Array, Array, Array], q: Array) -> Array:
        return super().scale(terms, q).astype(ml_dtypes.bfloat16)


class DisentangledOfBytes(Disentangled):
    """Table rows are held in uint8."""

    def index(self, relative: Array, span: int) -> Array:
        return super().index(relative, span).astype(np.uint8)


class DisentangledKeepsTheIndex(Disentangled):
    """Table rows are cached by length, ignoring the size of the tables."""

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def index(self, relative: Array, span: int) -> Array:
        if len(relative) not in self._kept:
            self._kept[len(relative)] = super().index(relative, span)
        return np.minimum(self._kept[len(relative)], 2 * span - 1)


class DisentangledScalesQueries(Disentangled):
    """The caller's queries are divided in place."""

    claimed = ("paper",)

    def answer(self, q: Array, k: Array, q_r: Array, k_r: Array, **keywords: Any) -> Array:
        result = super().answer(q, k, q_r, k_r, **keywords)
        q /= np.sqrt(3 * q.shape[2]).astype(q.dtype)
        return result
