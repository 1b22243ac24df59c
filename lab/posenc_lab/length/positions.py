"""Every scheme as a part of a model, with numbers computed by posenc.

Parts that depend only on positions come directly from posenc. Learned parts must be written in
torch, since training needs gradients; for these, ``certified`` methods compute the same with
posenc, and the smoke test of this benchmark compares the two.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

import posenc

WIDTH, HEADS = 64, 4
HEAD_DIM = WIDTH // HEADS
TRAINED, TESTED = 100, 200

Array = npt.NDArray[np.floating]


def tensor(array: Array) -> Tensor:
    """Return an array as a float32 tensor."""
    return torch.tensor(array, dtype=torch.float32)


class Position(nn.Module):
    """No positional encoding (NoPE), and the base class of all schemes."""

    def embedding(self, length: int) -> Tensor:
        """Return the embedding to add to token embeddings, broadcastable to [length, WIDTH]."""
        return torch.zeros(1)

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """Return logits before the causal mask, for q and k [batch, HEADS, length, HEAD_DIM]."""
        return (q / math.sqrt(HEAD_DIM)) @ k.transpose(-1, -2)

    def certified_embedding(self, length: int) -> Array:
        """Return the embedding, computed by posenc in float64."""
        return np.zeros(1)

    def certified_logits(self, q: Array, k: Array) -> Array:
        """Return one sequence's logits by posenc in float64, shape [HEADS, length, length]."""
        return np.asarray(q @ np.swapaxes(k, -1, -2) / math.sqrt(HEAD_DIM))


# Absolute positions, added to the tokens.


@cache
def _sinusoids(length: int, layout: str = "interleaved") -> Tensor:
    return tensor(posenc.sinusoidal(np.arange(length), WIDTH, layout=layout))


class Sinusoidal(Position):
    def embedding(self, length: int) -> Tensor:
        return _sinusoids(length)

    def certified_embedding(self, length: int) -> Array:
        return posenc.sinusoidal(np.arange(length), WIDTH)


class Learned(Position):
    """A table with a row per tested position; rows beyond TRAINED keep their initial values."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(TESTED, WIDTH))

    def embedding(self, length: int) -> Tensor:
        return self.table[:length]

    def certified_embedding(self, length: int) -> Array:
        return posenc.learned(np.arange(length), array(self.table))


# Rotations of queries and keys.

Rotate = Callable[[Array, npt.NDArray[np.integer], bool], Array]
"""A function that takes x [..., n, HEAD_DIM], positions, and whether x are keys."""


def rope(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.rope(x, positions)


def xpos(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.xpos(x, positions, downscale=int(key))


FACTOR = TESTED / TRAINED


def interpolated(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.position_interpolation(x, positions, factor=FACTOR)


def ntk_aware(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.ntk_aware(x, positions, factor=FACTOR)


def dynamic_ntk(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.dynamic_ntk(
        x,
        positions,
        factor=FACTOR,
        original_max_position_embeddings=TRAINED,
        length=len(positions),
    )


def yarn(x: Array, positions: npt.NDArray[np.integer], key: bool) -> Array:
    return posenc.yarn(
        x,
        positions,
        factor=FACTOR,
        original_max_position_embeddings=TRAINED,
        layout="interleaved",
    )


@cache
def _matrices(rotate: Rotate, length: int, key: bool) -> Tensor:
    """Return the rotation at each position as a matrix, shape [length, HEAD_DIM, HEAD_DIM].

    Rotation is linear in the row, so the results for unit vectors determine it.
    """
    units = np.repeat(np.eye(HEAD_DIM)[:, None], length, axis=1)
    return tensor(np.swapaxes(rotate(units, np.arange(length), key), 0, 1))


class Rotary(Position):
    """A rotation of queries and keys; ``rotate`` may be exchanged after training."""

    def __init__(self, rotate: Rotate) -> None:
        super().__init__()
        self.rotate = rotate

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        turned = (
            torch.einsum("bhnd,nde->bhne", x, _matrices(self.rotate, x.shape[-2], key))
            for x, key in ((q, False), (k, True))
        )
        return super().logits(*turned)

    def certified_logits(self, q: Array, k: Array) -> Array:
        turned = (self.rotate(x, np.arange(q.shape[-2]), key) for x, key in ((q, False), (k, True)))
        return super().certified_logits(*turned)


# Biases of logits.


class Biased(Position):
    def bias(self, length: int) -> Tensor:
        """Return a bias, [HEADS, length, length]; values for keys after the query are unused."""
        raise NotImplementedError

    def certified_bias(self, length: int) -> Array:
        """Return the bias, computed by posenc."""
        raise NotImplementedError

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        return super().logits(q, k) + self.bias(q.shape[-2])

    def certified_logits(self, q: Array, k: Array) -> Array:
        return super().certified_logits(q, k) + self.certified_bias(q.shape[-2])


@cache
def _distances(length: int) -> Tensor:
    """Return query minus key position, or 0 for keys after the query: shape [length, length]."""
    places = torch.arange(length)
    return (places[:, None] - places).clamp(min=0)


class Alibi(Biased):
    @staticmethod
    @cache
    def _constant(length: int) -> Tensor:
        return tensor(posenc.alibi_bias(HEADS, length, length))

    def bias(self, length: int) -> Tensor:
        return self._constant(length)

    def certified_bias(self, length: int) -> Array:
        return posenc.alibi_bias(HEADS, length, length)


class T5Bias(Biased):
    """A table of 32 buckets, as in T5, initialized with zeros."""

    buckets = 32

    def __init__(self, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(self.buckets, HEADS))

    def bias(self, length: int) -> Tensor:
        return self.table[_buckets(length, self.buckets, self.max_distance)].permute(2, 0, 1)

    def certified_bias(self, length: int) -> Array:
        return posenc.t5_bias(
            array(self.table), length, length, direction="causal", max_distance=self.max_distance
        )


@cache
def _buckets(length: int, buckets: int, max_distance: int) -> Tensor:
    relative = -_distances(length).numpy()
    return torch.tensor(
        posenc.t5_bucket(
            relative, direction="causal", num_buckets=buckets, max_distance=max_distance
        )
    )


class Kerple(Biased):
    """The logarithmic form; r1 and r2 of each head start at 1 and are learned as logarithms."""

    def __init__(self) -> None:
        super().__init__()
        self.log_r1 = nn.Parameter(torch.zeros(HEADS))
        self.log_r2 = nn.Parameter(torch.zeros(HEADS))

    def bias(self, length: int) -> Tensor:
        r1, r2 = (logarithm.exp()[:, None, None] for logarithm in (self.log_r1, self.log_r2))
        return -r1 * torch.log1p(r2 * _distances(length))

    def certified_bias(self, length: int) -> Array:
        r1, r2 = (np.exp(array(logarithm)) for logarithm in (self.log_r1, self.log_r2))
        return posenc.kerple_bias(r1, r2, length, length)


class Fire(Biased):
    """A network with 32 hidden units; c starts at 0.1, the threshold at a quarter of TRAINED."""

    hidden = 32

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1, self.hidden)
        self.second = nn.Linear(self.hidden, HEADS)
        self.log_c = nn.Parameter(torch.tensor(0.1).log())
        self.log_threshold = nn.Parameter(torch.tensor(TRAINED / 4).log())

    def bias(self, length: int) -> Tensor:
        c, threshold = self.log_c.exp(), self.log_threshold.exp()
        largest = torch.maximum(torch.arange(length), threshold)[:, None]
        part = torch.log1p(c * _distances(length)) / torch.log1p(c * largest)
        return self.second(functional.relu(self.first(part[..., None]))).permute(2, 0, 1)

    def certified_bias(self, length: int) -> Array:
        w1, b1, w2, b2 = (
            array(parameter) for parameter in (*self.first.parameters(), *self.second.parameters())
        )
        c, threshold = (
            float(np.exp(array(parameter))) for parameter in (self.log_c, self.log_threshold)
        )
        return posenc.fire_bias(w1[:, 0], b1, w2, b2, length, length, c=c, threshold=threshold)


class TransformerXL(Position):
    """Scores by content and distance; each layer projects the sinusoids; u and v start at 0."""

    def __init__(self) -> None:
        super().__init__()
        self.w_kr = nn.Parameter(torch.randn(HEADS, WIDTH, HEAD_DIM) / math.sqrt(WIDTH))
        self.u = nn.Parameter(torch.zeros(HEADS, HEAD_DIM))
        self.v = nn.Parameter(torch.zeros(HEADS, HEAD_DIM))

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        length = q.shape[-2]
        r = _sinusoids(length, "sin-cos").flip(0) @ self.w_kr  # the largest distance first
        of_distance = (q + self.v[:, None]) / math.sqrt(HEAD_DIM) @ r.transpose(-1, -2)
        # Shift row i left by length - 1 - i: pad one column, reinterpret, drop the first row.
        moved = functional.pad(of_distance, (1, 0)).view(*q.shape[:2], length + 1, length)[:, :, 1:]
        return super().logits(q + self.u[:, None], k) + moved

    def certified_logits(self, q: Array, k: Array) -> Array:
        w_kr, u, v = (array(parameter) for parameter in (self.w_kr, self.u, self.v))
        return posenc.transformer_xl_scores(q, k, w_kr, u, v)


def array(parameter: Tensor) -> npt.NDArray[np.float64]:
    """Return the values of a parameter in float64."""
    return np.asarray(parameter.detach().double().numpy())


@dataclass(frozen=True)
class Scheme:
    """How to build a scheme, and the rotations to swap in for the test without retraining.

    If ``shared``, all layers use the same part, as in T5; otherwise each layer has its own.
    """

    name: str
    page: str
    make: Callable[[], Position]
    shared: bool = False
    at_test: Mapping[str, Rotate] | None = None

    def parts(self, layers: int) -> list[Position]:
        """Return a part for each layer."""
        return [self.make()] * layers if self.shared else [self.make() for _ in range(layers)]


RESCALED: Mapping[str, Rotate] = {
    "position-interpolation": interpolated,
    "ntk-aware": ntk_aware,
    "dynamic-ntk": dynamic_ntk,
    "yarn": yarn,
}

SCHEMES: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("nope", "nope", Position),
        Scheme("sinusoidal", "sinusoidal", Sinusoidal, shared=True),
        Scheme("learned", "learned", Learned, shared=True),
        Scheme("transformer-xl", "transformer-xl", TransformerXL),
        Scheme("rope", "rope", partial(Rotary, rope), at_test=RESCALED),
        Scheme("xpos", "xpos", partial(Rotary, xpos)),
        Scheme("alibi", "alibi", Alibi),
        Scheme("t5-bias-128", "t5-bias", partial(T5Bias, 128), shared=True),
        Scheme("t5-bias-50", "t5-bias", partial(T5Bias, 50), shared=True),
        Scheme("kerple", "kerple", Kerple),
        Scheme("fire", "fire", Fire),
    )
}
