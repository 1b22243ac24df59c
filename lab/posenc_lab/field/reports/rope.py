"""Mistakes of plain rotary embeddings: layouts, precision, positions, caches, kernels."""

import numpy as np

from posenc_lab.field.pieces import Array, bf16, omega, outer
from posenc_lab.field.reports.common import (
    angles,
    half,
    inter,
    leading,
    rotate_every_two,
    rotate_half,
    tables,
    wrong,
)

NARROW = "low-precision-angles"
FORWARD = "backward-is-forward"
APART = "half a head apart|exponents over"
ROWS = "by their numbers|rows stand at 0, 1, 2.* (not read|ignored)"


@wrong("raiyanyahya/how-to-train-your-gpt#6", "rope", "interleaved", "tables-mixed")
def angles_of_neighbours(x: Array, positions: Array, *, base: float) -> Array:
    """Angles are repeated for neighbours, and pairs are those of halves."""
    return tables(x, rotate_half(x), np.repeat(angles(x, positions, base), 2, axis=-1))


@wrong("huggingface/transformers#47328", "rope", "interleaved", "tables-mixed")
@wrong("xiangking/ark-nlp#47", "rope", "interleaved", "tables-mixed")
def tables_of_halves(x: Array, positions: Array, *, base: float) -> Array:
    """Tables are those of halves, and neighbours are rotated."""
    return tables(x, rotate_every_two(x), np.tile(angles(x, positions, base), 2))


@wrong("ohdearquant/lattice#392", "rope", "half", "layout-swapped", rotation="partial")
def partial_neighbours(x: Array, positions: Array, *, base: float, rotary_dim: int = 0) -> Array:
    """Partial rotation pairs neighbours where halves are meant."""
    width = rotary_dim or x.shape[-1]
    turned = inter(x[..., :width], angles(x[..., :width], positions, base))
    return np.concatenate([turned, x[..., width:]], axis=-1)


@wrong("vllm-project/vllm-metal#44", "rope", "interleaved", "layout-swapped")
def evens_and_odds_concatenated(x: Array, positions: Array, *, base: float) -> Array:
    """Rotated even and odd channels are concatenated instead of interleaved again."""
    apart = np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)
    return half(apart, angles(x, positions, base))


@wrong("trymirai/lalamo#268", "rope", "half", "sign-flipped")
@wrong("karpathy/nanochat#489", "rope", "half", "sign-flipped")
def minus_before_sine(x: Array, positions: Array, *, base: float) -> Array:
    """The product with the sine is subtracted, or the matrix is transposed."""
    return tables(x, -rotate_half(x), np.tile(angles(x, positions, base), 2))


@wrong(
    "stanford-cs336/assignment1-basics#22", "rope", "interleaved", r"\(2t ?\+ ?1\)/d", "odd-chan"
)
def odd_exponents(x: Array, positions: Array, *, base: float) -> Array:
    """Exponents are (2k-1)/d with k from 1."""
    k = np.arange(1, x.shape[-1] // 2 + 1)
    return inter(x, outer(positions, 1 / base ** ((2 * k - 1) / x.shape[-1])))


@wrong("deepspeedai/DeepSpeed#2782", "rope", "half", "rows stand at 0, 1, 1, 2, 2")
def row_by_heads(x: Array, positions: Array, *, base: float) -> Array:
    """A kernel takes rows divided by heads for positions, although heads come first."""
    rows, dim = max(x.shape[-2], 1), x.shape[-1]
    flat = x.reshape(-1, dim)
    number = np.arange(len(flat)) // max(1, len(flat) // rows) % rows
    return half(flat, angles(flat, positions[number], base)).reshape(x.shape)


@wrong("elixir-nx/emlx#121", "rope", "half", "(each|every|by its) head")
def head_added(x: Array, positions: Array, *, base: float) -> Array:
    """The number of a head is added to its positions."""
    flat = x.reshape(-1, *x.shape[-2:])
    made = [half(each, angles(x, positions + head, base)) for head, each in enumerate(flat)]
    return np.array(made, x.dtype).reshape(x.shape)


@wrong("ml-explore/mlx#3494", "rope", "half", "not written|unwritten|first-sequence-only")
def one_row_of_a_batch(x: Array, positions: Array, *, base: float) -> Array:
    """With one row and a batch above 1, only the first of the batch is written."""
    out = half(x, angles(x, positions, base))
    if x.ndim >= 3 and x.shape[-2] == 1:
        out[1:] = 0
    return out


@wrong("lucidrains/rotary-embedding-torch#11", "rope", "interleaved", "earlier call", fault="state")
class CacheByLength:
    """Frequencies are cached by length alone; the offset is not in the key."""

    def __init__(self) -> None:
        self.cache: dict[tuple[float, int, int], Array] = {}

    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        key = (base, x.shape[-1], x.shape[-2])
        if key not in self.cache:
            self.cache[key] = angles(x, positions, base)
        return inter(x, self.cache[key])


@wrong("EleutherAI/gpt-neox#1003", "rope", "half", NARROW, dtype="float16")
def all_in_float16(x: Array, positions: Array, *, base: float) -> Array:
    """Frequencies, positions and their product are all in float16."""
    wave = omega(x.shape[-1], base).astype(np.float16)
    with np.errstate(all="ignore"):
        return tables(x, rotate_half(x), np.tile(positions.astype(np.float16)[:, None] * wave, 2))


@wrong("huggingface/transformers#25681", "rope", "half", NARROW, dtype="bfloat16")
def buffer_cast(x: Array, positions: Array, *, base: float) -> Array:
    """The buffer of frequencies is cast with the model, and the table is made in bfloat16."""
    turns = bf16(outer(bf16(positions), bf16(omega(x.shape[-1], base))))
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    cos, sin = bf16(np.cos(turns)), bf16(np.sin(turns))
    made = [first * cos - second * sin, first * sin + second * cos]
    return np.concatenate(made, axis=-1).astype(x.dtype)


@wrong("sgl-project/sglang-jax#1472", "rope", "half", NARROW, dtype="bfloat16")
def frequencies_rounded(x: Array, positions: Array, *, base: float) -> Array:
    """Frequencies are rounded to bfloat16 before angles are computed in float32."""
    return half(x, outer(positions, bf16(omega(x.shape[-1], base))))


@wrong("huggingface/transformers#29285", "rope", "half", NARROW, dtype="bfloat16")
def autocast(x: Array, positions: Array, *, base: float) -> Array:
    """The product of frequencies and positions runs under bfloat16 autocast."""
    return half(x, bf16(outer(bf16(positions), bf16(omega(x.shape[-1], base)))))


@wrong("lyogavin/airllm#368", "rope", "half", "wrong-base")
def theta_not_carried_over(x: Array, positions: Array, *, base: float) -> Array:
    """The configured base is not carried over: it is always 10000."""
    return half(x, angles(x, positions, 10000))


@wrong("paiml/realizar#78", "rope", "half", "wrong-base", base=10000.0)
def default_of_the_loader(x: Array, positions: Array) -> Array:
    """The loader's default base is 1000000 where the model has 10000."""
    return half(x, angles(x, positions, 1000000))


@wrong("vllm-project/vllm#16904", "rope", "interleaved", "halve", fault="state", rotation="partial")
class HalvedByLayer:
    """rotary_dim is halved by each layer on a shared module."""

    def __init__(self) -> None:
        self.calls = 0

    def rope(self, x: Array, positions: Array, *, base: float, rotary_dim: int = 0) -> Array:
        width = rotary_dim or x.shape[-1]
        turns = angles(x[..., :width], positions, base)
        width = (width >> self.calls) // 2 * 2
        self.calls += 1
        turned = inter(x[..., :width], turns[:, : width // 2])
        return np.concatenate([turned, x[..., width:]], axis=-1)


@wrong("pie-project/pie#603", "rope", "half", APART, rotation="partial")
def partial_over_the_head(x: Array, positions: Array, *, base: float, rotary_dim: int = 0) -> Array:
    """Exponents and pairs of a partial rotation are those of the whole head."""
    pairs, middle = (rotary_dim or x.shape[-1]) // 2, x.shape[-1] // 2
    turns, wide = angles(x, positions, base)[:, :pairs], x.astype(np.float64)
    first, second = wide[..., :pairs].copy(), wide[..., middle : middle + pairs].copy()
    wide[..., :pairs] = first * np.cos(turns) - second * np.sin(turns)
    wide[..., middle : middle + pairs] = first * np.sin(turns) + second * np.cos(turns)
    return wide.astype(x.dtype)


@wrong("ml-explore/mlx-lm#1698", "rope", "interleaved", "rotary-dim-ignored", rotation="partial")
def partial_factor_dropped(
    x: Array, positions: Array, *, base: float, rotary_dim: int = 0
) -> Array:
    """The whole head is rotated instead of a part."""
    return inter(x, angles(x, positions, base))


@wrong("vllm-project/vllm#30384", "rope", "half", "twice|too few channels", rotation="partial")
def partial_factor_twice(x: Array, positions: Array, *, base: float, rotary_dim: int = 0) -> Array:
    """The share of rotated channels is applied twice."""
    width = rotary_dim or x.shape[-1]
    width = int(width * (width / x.shape[-1])) // 2 * 2
    return leading(x, angles(x[..., :width], positions, base)) if width else x.copy()


@wrong("ml-explore/mlx-lm#1545", "rope", "half", r"at 2·base\^|doubled|multiplied by 2")
def positions_doubled(x: Array, positions: Array, *, base: float) -> Array:
    """The scale is 2 by default: every position is doubled."""
    return half(x, angles(x, positions * 2, base))


@wrong("pytorch/executorch#2010", "rope", "interleaved", ROWS)
def table_from_zero(x: Array, positions: Array, *, base: float) -> Array:
    """With a cache, the table is sliced from 0 instead of from its end."""
    return inter(x, angles(x, np.arange(x.shape[-2]), base))


@wrong("nntile/nntile#360", "rope", "half", "offsets? .*(swapped|exchanged)|reads from 0")
def offsets_of_a_copy_swapped(x: Array, positions: Array, *, base: float) -> Array:
    """A copy of the table reads from 0 and writes at the cache's length; the rest is zero."""
    rows = x.shape[-2]
    start = min(int(positions[0]), rows) if rows else 0
    turned = half(x, angles(x, np.arange(rows) - start, base))
    turned[..., :start, :] = 0
    return turned


@wrong(
    "whittle-org/whittle#21", "rope", "half", "head_dim|exponents over", head_dim=[32, 64, 80, 128]
)
def cache_of_the_largest_head(x: Array, positions: Array, *, base: float) -> Array:
    """Smaller heads use the table of the largest one, of 128 channels."""
    return half(x, outer(positions, omega(128, base)[: x.shape[-1] // 2]))


@wrong("microsoft/onnxruntime#20204", "rope", "interleaved", "65535", switches={"rows": 65536})
def grid_of_65535(x: Array, positions: Array, *, base: float) -> Array:
    """The grid has 65535 blocks: rows beyond are not rotated."""
    out = inter(x, angles(x, positions, base))
    out[..., 65535:, :] = x[..., 65535:, :]
    return out


@wrong("huggingface/transformers#29496", "rope", "half", NARROW, dtype="bfloat16")
class CacheMadeAgain:
    """Beyond max_position the table is made again from frequencies in bfloat16."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, float], Array] = {}

    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        key, wave = (x.shape[-1], base), omega(x.shape[-1], base).astype(np.float32)
        rows = int(np.max(positions, initial=-1)) + 1
        if key not in self.kept:
            self.kept[key] = np.outer(np.arange(4096, dtype=np.float32), wave)
        if rows > len(self.kept[key]):
            self.kept[key] = bf16(np.outer(bf16(np.arange(rows)), bf16(wave)))
        return half(x, self.kept[key][positions])


@wrong("Lightning-AI/litgpt#1031", "rope", "half", NARROW, dtype="bfloat16")
def positions_cast(x: Array, positions: Array, *, base: float) -> Array:
    """Positions are cast to bfloat16: 257 becomes 256."""
    return half(x, angles(x, bf16(positions), base))


@wrong("ngxson/llama.cpp#59", "rope", "interleaved", "sign-flipped")
def always_inverse(x: Array, positions: Array, *, base: float) -> Array:
    """The flag of the direction is inverted: rotation is always backwards."""
    return inter(x, -angles(x, positions, base))


@wrong("antonellof/ferrox#39", "rope", "half", r"at 0\.125 (of|times)|divided by 8")
def scaled_as_other_layers(x: Array, positions: Array, *, base: float) -> Array:
    """Linear scaling by 8 of some layers is applied to all."""
    return half(x, angles(x, positions, base) / 8)


@wrong("NVIDIA/Megatron-LM#453", "rope", "half", ROWS)
def position_ids_ignored(x: Array, positions: Array, *, base: float) -> Array:
    """Position ids are ignored: the table runs from 0 to the length."""
    return half(x, angles(x, np.arange(x.shape[-2]), base))


@wrong("baidu-baige/LoongForge#106", "rope_vjp", "half", "backward-unrotated", fault="gradients")
def gradient_unturned(x: Array, positions: Array, *, base: float) -> Array:
    """A fused kernel has no backward pass: the gradient comes back unrotated."""
    return x.copy()


@wrong("Dao-AILab/flash-attention#569", "rope_vjp", "interleaved", FORWARD, fault="gradients")
def gradient_turned_forward(x: Array, positions: Array, *, base: float) -> Array:
    """The backward pass lacks the conjugate: the gradient is rotated forwards."""
    return inter(x, angles(x, positions, base))


@wrong("nntrainer/nntrainer#3982", "rope", "half", "returned nan|not finite", base=10000.0)
def theta_of_zero(x: Array, positions: Array) -> Array:
    """The base is 0, so that frequencies are infinite and cosines NaN."""
    with np.errstate(all="ignore"):
        wave = 1.0 / np.power(0.0, np.arange(0, x.shape[-1], 2) / x.shape[-1])
        return half(x, outer(positions, wave))
