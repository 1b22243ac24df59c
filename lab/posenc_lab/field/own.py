"""Mistakes made up for the bench: what people do wrong, without a thread."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_lab.field.bug import Answer, Array, bug
from posenc_lab.field.pieces import (
    by_wavelength,
    halves,
    interleaved,
    neighbours,
    offsets,
    omega,
    outer,
    partly,
    slopes,
    softmax,
    t5_buckets,
    turned,
    yarned,
)


def rotary(name: str, why: str, claimed: str, right: str | tuple[str, ...], angles: Any) -> None:
    """A rotation by other angles: of positions, the number of rotated channels and the base."""

    def answer(
        x: Array,
        positions: Array,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        found = angles(positions.astype(np.float64)[:, None], size, float(base))
        return partly(x, rotary_dim, lambda part: turned(part, found, layout))

    answer.__name__, answer.__doc__ = name, why
    bug("rope", claimed, right)(answer)


def steps(size: int) -> Array:
    return np.arange(size // 2)


for _name, _why, _claimed, _right, _angles in (
    ("one_more_radian", "1 + p·w.", "half", (), lambda p, d, b: 1 + p * omega(d, b)),
    (
        "linspace_with_its_end",
        "Exponents linspace(0, 1, d/2).",
        "half",
        "exponent-to-the-end",
        lambda p, d, b: p * b ** -np.linspace(0, 1, d // 2),
    ),
    (
        "slowest_first",
        "Frequencies in reverse.",
        "interleaved",
        (),
        lambda p, d, b: p * omega(d, b)[::-1],
    ),
    (
        "pairs_from_one",
        "Exponents 2(t+1)/d.",
        "half",
        (),
        lambda p, d, b: p * b ** (-2 * (steps(d) + 1) / d),
    ),
    (
        "two_channels_more",
        "Exponents 2t/(d+2).",
        "half",
        (),
        lambda p, d, b: p * b ** (-2 * steps(d) / (d + 2)),
    ),
    ("full_turns", "2π·p·w.", "half", (), lambda p, d, b: 2 * np.pi * p * omega(d, b)),
    ("half_the_position", "p // 2.", "interleaved", (), lambda p, d, b: p // 2 * omega(d, b)),
    (
        "one_quarter_turned",
        "Only the first half of the pairs turned.",
        "half",
        (),
        lambda p, d, b: p * omega(d, b) * (steps(d) < max(d // 4, 1)),
    ),
    ("table_wraps", "p mod 4096.", "half", (), lambda p, d, b: p % 4096 * omega(d, b)),
    (
        "base_of_code_llama",
        "A base of 1e6, whatever is asked for.",
        "interleaved",
        "wrong-base",
        lambda p, d, b: p * omega(d, 1e6),
    ),
    (
        "one_too_early",
        "p - 1.",
        "half",
        "positions-shifted",
        lambda p, d, b: (p - 1) * omega(d, b),
    ),
    (
        "backwards",
        "Opposite angles.",
        "interleaved-to-half",
        "sign-flipped",
        lambda p, d, b: -p * omega(d, b),
    ),
    (
        "half_precision_angles",
        "Angles in float16.",
        "half",
        "low-precision-angles",
        lambda p, d, b: (p * omega(d, b)).astype(np.float16).astype(np.float64),
    ),
    (
        "in_degrees",
        "Angles in degrees.",
        "interleaved",
        "degrees",
        lambda p, d, b: np.deg2rad(p * omega(d, b)),
    ),
    (
        "exponential_of_the_exponent",
        "exp(-2t/d), without the base.",
        "half",
        "wrong-base",
        lambda p, d, b: p * np.exp(-2 * steps(d) / d),
    ),
    (
        "linear_frequencies",
        "Frequencies 1 - 2t/d.",
        "half",
        (),
        lambda p, d, b: p * (1 - 2 * steps(d) / d),
    ),
    (
        "clamped_position",
        "Positions no further than 8191.",
        "interleaved",
        (),
        lambda p, d, b: np.minimum(p, 8191) * omega(d, b),
    ),
):
    rotary(_name, _why, _claimed, _right, _angles)


@bug("rope", "half")
def made_longer(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """The square root of the width, multiplied to what is turned."""
    wide = x.astype(np.float64) * np.sqrt(x.shape[-1])
    return halves(wide, outer(positions, omega(x.shape[-1], base))).astype(x.dtype)


def waves(name: str, why: str, right: str | tuple[str, ...], made: Any) -> None:
    """Another table: of positions [n, 1], channels and base."""

    def answer(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
        if dim % 2 or dim < 2:
            raise ValueError(dim)
        return np.asarray(made(positions.astype(np.float64)[:, None], dim, base)).astype(dtype)

    answer.__name__, answer.__doc__ = name, why
    bug("sinusoidal", "paper", right)(answer)


def both(angles: Array) -> Array:
    return interleaved(np.sin(angles), np.cos(angles))


for _name, _why, _right, _made in (
    (
        "exponents_from_one",
        "Exponents 2(t+1)/d.",
        (),
        lambda p, d, b: both(p * b ** (-2 * (steps(d) + 1) / d)),
    ),
    (
        "evenly_to_the_last_channel",
        "Exponents c/(d-1), of each channel its own.",
        (),
        lambda p, d, b: np.where(
            np.arange(d) % 2,
            np.cos(p * b ** -(np.arange(d) / (d - 1))),
            np.sin(p * b ** -(np.arange(d) / (d - 1))),
        ),
    ),
    ("shifted_phase", "1 + p·w.", (), lambda p, d, b: both(1 + p * omega(d, b))),
    ("negative_sines", "-p.", "sign-flipped", lambda p, d, b: both(-p * omega(d, b))),
    (
        "times_the_root",
        "All multiplied by sqrt(d).",
        "wrong-scale",
        lambda p, d, b: np.sqrt(d) * both(p * omega(d, b)),
    ),
    ("slow_first", "Frequencies in reverse.", (), lambda p, d, b: both(p * omega(d, b)[::-1])),
    (
        "relative_to_the_last",
        "Positions over the largest of them.",
        (),
        lambda p, d, b: both(p / max(np.max(np.abs(p), initial=0), 1) * omega(d, b)),
    ),
    ("whole_turns", "2π·p·w.", (), lambda p, d, b: both(2 * np.pi * p * omega(d, b))),
    (
        "half_exponents",
        "Exponents t/d.",
        "exponent-halved",
        lambda p, d, b: both(p * b ** -(steps(d) / d)),
    ),
    (
        "decimal_logarithm",
        "exp(-2t/d·log10(base)).",
        "wrong-base",
        lambda p, d, b: both(p * np.exp(-2 * steps(d) / d * np.log10(b))),
    ),
    (
        "sines_only",
        "A sine in both channels.",
        (),
        lambda p, d, b: np.repeat(np.sin(p * omega(d, b)), 2, axis=1),
    ),
    (
        "from_one",
        "p + 1.",
        "positions-shifted",
        lambda p, d, b: both((p + 1) * omega(d, b)),
    ),
    (
        "cosines_first",
        "Cosine in even channels.",
        "waves-swapped",
        lambda p, d, b: interleaved(np.cos(p * omega(d, b)), np.sin(p * omega(d, b))),
    ),
):
    waves(_name, _why, _right, _made)


def frequencies(
    call: str, claimed: str, right: str | tuple[str, ...] = ()
) -> Callable[[Callable[..., Any]], Answer]:
    """A formula of frequencies, put on the bench as a call that gives them."""

    def put(formula: Callable[..., Any]) -> Answer:
        def answer(rotary_dim: int, *, base: float, dtype: str, **own: Any) -> Array:
            return np.asarray(formula(rotary_dim, base, **own)).astype(dtype)

        answer.__name__, answer.__doc__ = formula.__name__, formula.__doc__
        return bug(call, claimed, right)(answer)

    return put


@frequencies("llama3_frequencies", "standard", "radians")
def without_two_pi(
    dim: int, base: float, original_max_position_embeddings: int, **own: Any
) -> Array:
    """Wavelengths without 2π."""
    length = original_max_position_embeddings * 2 * np.pi
    return by_wavelength(omega(dim, base), original_max_position_embeddings=length, **own)


@frequencies("llama3_frequencies", "standard")
def squared_share(
    dim: int,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> Array:
    """The smooth share squared."""
    plain = omega(dim, base)
    turns = original_max_position_embeddings * plain / (2 * np.pi)
    share = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1) ** 2
    return np.asarray((1 - share) * plain / factor + share * plain)


@frequencies("llama3_frequencies", "standard")
def root_of_the_factor(dim: int, base: float, factor: float, **own: Any) -> Array:
    """The root of the factor."""
    return by_wavelength(omega(dim, base), factor**0.5, **own)


@frequencies("yarn_frequencies", "code", "betas-swapped")
def exchanged_betas(
    dim: int,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float,
    beta_slow: float,
    **_: Any,
) -> Array:
    """beta_fast and beta_slow in each other's place."""
    return yarned(dim, base, factor, original_max_position_embeddings, beta_slow, beta_fast)


@frequencies("yarn_frequencies", "code")
def decimal_bounds(
    dim: int,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float,
    beta_slow: float,
    **_: Any,
) -> Array:
    """Bounds a fifth too early."""
    length = original_max_position_embeddings
    return yarned(dim, base, factor, length // 5, beta_fast, beta_slow)


@frequencies("ntk_aware_frequencies", "standard", "exponent-inverted")
def inverted_power(dim: int, base: float, factor: float) -> Array:
    """(d-2)/d in the power."""
    return omega(dim, base * factor ** ((dim - 2) / dim))


@frequencies("ntk_aware_frequencies", "standard")
def power_of_channels(dim: int, base: float, factor: float) -> Array:
    """d/(d-1) in the power."""
    return omega(dim, base * factor ** (dim / (dim - 1)))


@frequencies("position_interpolation_frequencies", "standard", "multiplied")
def times_the_factor(dim: int, base: float, factor: float) -> Array:
    """Multiplied by the factor."""
    return omega(dim, base) * factor


@frequencies("dynamic_ntk_frequencies", "standard")
def one_token_less(
    dim: int,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    length: int,
) -> Array:
    """The largest position for the length."""
    longer = max(length - 1, original_max_position_embeddings)
    stretch = factor * longer / original_max_position_embeddings - (factor - 1)
    return omega(dim, base * stretch ** (dim / (dim - 2)))


@bug("position_interpolation", "half")
def whole_positions(x: Array, positions: Array, *, base: float, factor: float, **_: Any) -> Array:
    """p // s."""
    return halves(x, outer(positions // factor, omega(x.shape[-1], base)))


@bug("llama3", "interleaved", "sign-flipped")
def turned_back(x: Array, positions: Array, *, base: float, layout: str, **own: Any) -> Array:
    """Opposite angles."""
    return neighbours(x, outer(-positions, by_wavelength(omega(x.shape[-1], base), **own)))


@bug("xpos", "lucidrains", "scale-missing")
def without_decay(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Rotation alone."""
    return neighbours(x, outer(positions, omega(x.shape[-1], base)))


@bug("m_rope", "qwen2-vl", "axes-swapped")
def width_before_height(
    x: Array, positions: Array, sections: Array, *, base: float, **_: Any
) -> Array:
    """Height and width exchanged."""
    axes = np.repeat([0, 2, 1], sections)
    angles = positions[axes].T.astype(np.float64) * omega(2 * len(axes), base)
    return halves(x, angles)


@bug("rope_vjp", "half", "backward-is-forward")
def forward_again(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Gradients turned forward."""
    size = x.shape[-1] if rotary_dim is None else rotary_dim
    return partly(x, rotary_dim, lambda part: halves(part, outer(positions, omega(size, base))))


def bias(name: str, why: str, right: str | tuple[str, ...], made: Any) -> None:
    """Another ALiBi: of slopes [heads, 1, 1] and key minus query."""

    def answer(heads: int, q_len: int, k_len: int, *, dtype: str, **_: Any) -> Array:
        found = made(slopes(heads)[:, None, None], offsets(q_len, k_len).astype(np.float64))
        return np.asarray(found).astype(dtype)

    answer.__name__, answer.__doc__ = name, why
    bug("alibi_bias", "causal", right)(answer)


for _name, _why, _right, _bias in (
    ("roots", "Roots of distances.", (), lambda m, d: -m * np.sqrt(np.maximum(-d, 0))),
    ("twice", "Twice the bias.", (), lambda m, d: 2 * m * np.minimum(d, 0)),
    ("logarithms", "Logarithms of distances.", (), lambda m, d: -m * np.log1p(np.maximum(-d, 0))),
    ("squares", "Squares of distances.", (), lambda m, d: -m * np.minimum(d, 0) ** 2),
):
    bias(_name, _why, _right, _bias)


@bug("alibi_bias", "symmetric", "form-swapped")
def one_side(heads: int, q_len: int, k_len: int, *, dtype: str, **_: Any) -> Array:
    """Distances to keys before the query alone."""
    return (slopes(heads)[:, None, None] * np.minimum(offsets(q_len, k_len), 0)).astype(dtype)


@bug("alibi_slopes", "interpolated")
def harmonic(heads: int, *, dtype: str, **_: Any) -> Array:
    """2^(-8/h)."""
    return (2.0 ** (-8 / np.arange(1, heads + 1))).astype(dtype)


def bucket(name: str, why: str, right: str | tuple[str, ...], made: Any) -> None:
    """Other buckets: of relative positions, their number and the largest distance."""

    def answer(relative_position: Array, *, num_buckets: int, max_distance: int, **_: Any) -> Array:
        return np.asarray(made(relative_position, num_buckets, max_distance))

    answer.__name__, answer.__doc__ = name, why
    bug("t5_bucket", "bidirectional", right)(answer)


for _name, _why, _right, _made in (
    (
        "twice_as_far",
        "Twice max_distance.",
        "wrong-max-distance",
        lambda r, n, m: t5_buckets(r, n, 2 * m, True),
    ),
    ("a_third_exact", "A third exact.", (), lambda r, n, m: t5_buckets(r, n, m, True, share=3)),
    (
        "one_direction",
        "Causal buckets.",
        "direction-swapped",
        lambda r, n, m: t5_buckets(r, n, m, False),
    ),
    (
        "key_for_query",
        "Query minus key.",
        "sign-flipped",
        lambda r, n, m: t5_buckets(-r, n, m, True),
    ),
):
    bucket(_name, _why, _right, _made)


@bug("clipped_bias", "key-minus-query", "sign-flipped")
def reversed_offsets(table: Array, q_len: int, k_len: int) -> Array:
    """Query minus key."""
    reach = len(table) // 2
    rows = np.clip(-offsets(q_len, k_len), -reach, reach) + reach
    return np.ascontiguousarray(np.moveaxis(table[rows], -1, 0))


@bug("clipped_bias", "key-minus-query")
def heads_reversed(table: Array, q_len: int, k_len: int) -> Array:
    """The last head first."""
    reach = len(table) // 2
    rows = np.clip(offsets(q_len, k_len), -reach, reach) + reach
    return np.ascontiguousarray(np.moveaxis(table[rows], -1, 0)[::-1])


@bug("shaw_scores", "key-minus-query", "offset-swapped")
def other_offsets(q: Array, k: Array, table: Array, **_: Any) -> Any:
    """Query minus key."""
    wide, keys, vectors = (each.astype(np.float64) for each in (q, k, table))
    reach = len(table) // 2
    rows = np.clip(-offsets(q.shape[-2], k.shape[-2]), -reach, reach) + reach
    relative = np.einsum("...qd,qkd->...qk", wide, vectors[rows])
    return ((wide @ keys.swapaxes(-1, -2) + relative) / np.sqrt(q.shape[-1])).astype(q.dtype)


@bug("learned", "plain", "rows-shifted")
def a_row_too_far(positions: Array, table: Array, **_: Any) -> Any:
    """Rows from the second on."""
    return table[np.minimum(positions + 1, len(table) - 1)]


@bug("causal_mask", "end", "transposed")
def upper_triangle(q_len: int, k_len: int, **_: Any) -> Array:
    """Keys from the query on."""
    return offsets(q_len, k_len) >= 0


@bug("causal_mask", "end")
def every_second(q_len: int, k_len: int, **_: Any) -> Any:
    """Only keys at an even distance."""
    offset = offsets(q_len, k_len)
    return (offset <= 0) & (offset % 2 == 0)


@bug("chunked_mask", "causal", "chunk-off-by-one")
def larger_chunks(q_len: int, k_len: int, chunk_size: int) -> Any:
    """Chunks of one more."""
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (key <= query) & (key // (chunk_size + 1) == query // (chunk_size + 1))


@bug("strided_mask", "union")
def three_strides(q_len: int, k_len: int, stride: int, **_: Any) -> Any:
    """Columns three strides apart."""
    distance = -offsets(q_len, k_len)
    return (distance >= 0) & ((distance < stride) | (distance % (3 * stride) == 0))


@bug("binary", "lsb-zero-one", "order-swapped")
def highest_first(positions: Array, dim: int, *, dtype: str, **_: Any) -> Array:
    """The highest digit first."""
    digits = positions[:, None] >> np.arange(dim)[::-1] & 1
    return digits.astype(dtype)


@bug("attention_weights", "causal", "mask-shifted")
def not_itself(q: Array, k: Array, **_: Any) -> Array:
    """The next key seen."""
    logits = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = offsets(*logits.shape[-2:]) <= 1
    return softmax(np.where(seen, logits, -np.inf)).astype(q.dtype)


@bug("attention_weights", "full")
def linear_weights(q: Array, k: Array, **_: Any) -> Any:
    """Logits squared and divided by their sum."""
    logits = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    powers = 1e-9 + logits**2
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(q.dtype)


@bug("kerple_bias", "log", "logarithm-wrong")
def binary_logarithm(r1: Array, r2: Array, q_len: int, k_len: int, **_: Any) -> Array:
    """A logarithm to base 2."""
    distance = np.maximum(-offsets(q_len, k_len), 0)
    first, second = (each.astype(np.float64)[:, None, None] for each in (r1, r2))
    out = -first * np.log2(1 + second * distance)
    return np.where(offsets(q_len, k_len) > 0, -np.inf, out).astype(r1.dtype)
