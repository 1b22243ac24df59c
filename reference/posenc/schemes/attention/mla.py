"""Logits of multi-head latent attention: a content part, and a rotary part with a shared key.

Source: DeepSeek-AI 2024, "DeepSeek-V2", arXiv 2405.04434, section 2.1.3, equations 14 to 18; the
softmax scale under YaRN is that of the released code of DeepSeek-V2 and V3.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary, exact
from posenc.disentangled import operands, products, turned_products
from posenc.exact import Pair
from posenc.schemes.rotary import yarn

__all__ = ["mla_scores"]

LAYOUTS = ("interleaved", "half")
BETA_FAST, BETA_SLOW = 32.0, 1.0


def mla_scores(
    q: npt.ArrayLike,
    k_nope: npt.ArrayLike,
    k_rope: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    factor: float | None = None,
    original_max_position_embeddings: int | None = None,
    mscale: float = 1.0,
    mscale_all_dim: float = 1.0,
) -> npt.NDArray[np.floating]:
    """Compute logits before mask and softmax: scaled content and rotary dot products.

    The last ``rope`` channels of a query are its rotary part; query i is at position
    ``k_len - q_len + i`` and key j at position j. Both dot products are added and divided by
    ``sqrt(nope + rope)``, nope and rope being the channels of the two parts.

    With ``factor`` (YaRN), pairs rotate at :func:`posenc.yarn_frequencies`, and all logits are
    multiplied by the square of ``m = 0.1 * mscale_all_dim * ln(factor) + 1``. Rotary parts of
    queries and keys are multiplied by ``(0.1 * mscale * ln(factor) + 1) / m``, which is 1 if
    ``mscale`` equals ``mscale_all_dim``.

    Parameters
    ----------
    q : array of shape [heads, q_len, nope + rope]
        Queries; q_len is at most k_len.
    k_nope : array of shape [heads, k_len, nope]
        Content part of the keys, expanded from the latent vector.
    k_rope : array of shape [k_len, rope]
        Rotary part of the keys before the rotation, the same for all heads; rope is even.
    base : float
        Base of the geometric progression of frequencies of the rotary part.
    layout : "interleaved" or "half"
        Pairs of the rotary part are its channels (2t, 2t+1) or (t, t + rope/2).
    factor : float or None
        YaRN's ratio of the new length to the trained one; None means no YaRN.
    original_max_position_embeddings : int or None
        The trained length of the model; given if and only if factor is.
    mscale, mscale_all_dim : float
        Above 0; used only with YaRN.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    arguments.choice("layout", layout, LAYOUTS)
    arrays = operands(
        q=(q, "heads q_len channels"),
        k_nope=(k_nope, "heads k_len nope"),
        k_rope=(k_rope, "k_len rope"),
    )
    q_len, k_len, nope, rope = (arrays.sizes[n] for n in ("q_len", "k_len", "nope", "rope"))
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; queries are the last of the keys")
    if rope < 2 or rope % 2:
        raise ValueError(f"k_rope has {rope} channels; they must be even and at least 2")
    if arrays.sizes["channels"] != nope + rope:
        raise ValueError(
            f"q has {arrays.sizes['channels']} channels; k_nope and k_rope have {nope} and {rope}"
        )
    distances = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    if (factor is None) != (original_max_position_embeddings is None):
        raise ValueError("factor and original_max_position_embeddings come together")
    all_dim, pairs = Decimal(1), Decimal(1)
    if factor is None or original_max_position_embeddings is None:
        turns = exact.turns_per_position(arguments.base(base), Fraction(2, rope), rope // 2)
    else:
        recipe = yarn.checked(base, factor, original_max_position_embeddings, BETA_FAST, BETA_SLOW)
        turns = yarn.turns_of_pairs(rope, *recipe, "index")
        with localcontext(prec=50):
            pairs = yarn.lengthening(float(factor), mscale, mscale_all_dim) ** 2
            all_dim = yarn.magnitude(float(factor), float(mscale_all_dim)) ** 2
    waves = exact.sincos(distances.astype(np.float64), turns)
    turned = turned_products(arrays["q"][..., nope:], arrays["k_rope"][None], waves, layout)
    content = products(arrays["q"][..., :nope], arrays["k_nope"])
    logits = elementary.add(content, elementary.times(turned, _pair(pairs)))
    root = elementary.square_root(float(nope + rope))
    scaled = elementary.divide(elementary.times(logits, _pair(all_dim)), root)
    return elementary.total(scaled).astype(arrays.dtype)


def _pair(value: Decimal) -> Pair:
    """Return a decimal number as two float64 words."""
    high, low = exact.words(value, 2)
    return Pair(np.asarray(high), np.asarray(low))
