"""Mistakes of scaled rotary embeddings: YaRN, Llama 3, LongRoPE, NTK, xPos, temperatures, MLA."""

import math
from typing import Any

import numpy as np

from posenc_lab.field.pieces import Array, bf16, omega, outer
from posenc_lab.field.reports.common import (
    angles,
    dynamic_base,
    half,
    inter,
    leading,
    llama3_omega,
    magnitude,
    mixed,
    mla,
    rotate_every_two,
    tables,
    wrong,
    yarn_omega,
    yarn_ramp,
)

OLD = "original_max_position_embeddings"
IGNORED, NARROW = "attention-ignored", "narrow-positions"
UNSCALED = "factor is ignored|plain RoPE|without (any )?scaling|scaling is missing"


def made_longer(x: Array, positions: Array, frequencies: Array, given: dict[str, Any]) -> Array:
    """Rotate in the half layout, with YaRN's magnitude."""
    return half(x, outer(positions, frequencies), magnitude(given["factor"]))


@wrong("keras-team/keras-hub#2981", "yarn", "code-half", "end-clamped-to-pairs")
def range_clamped_to_pairs(x: Array, positions: Array, **given: Any) -> Array:
    """The correction range is clamped to rotary_dim/2 - 1 instead of rotary_dim - 1."""
    ramp = yarn_ramp(x.shape[-1], given, last=x.shape[-1] // 2 - 1)
    return made_longer(x, positions, yarn_omega(x.shape[-1], given, ramp), given)


@wrong("keras-team/keras-hub#2981", "yarn", "code-half", "ramp-swapped")
def range_not_rounded(x: Array, positions: Array, **given: Any) -> Array:
    """The correction range is not rounded by default."""
    ramp = yarn_ramp(x.shape[-1], given, rounded=False)
    return made_longer(x, positions, yarn_omega(x.shape[-1], given, ramp), given)


@wrong("vllm-project/vllm#28244", "yarn", "gpt-oss", "ramp-swapped")
def range_rounded(x: Array, positions: Array, **given: Any) -> Array:
    """The correction range is rounded where gpt-oss does not round."""
    return made_longer(x, positions, yarn_omega(x.shape[-1], given), given)


@wrong("paiml/aprender#2161", "yarn", "code-half", "NTK|factor\\^|base ?[·*] ?factor|fast|extrapol")
def kept_pairs_of_another_base(x: Array, positions: Array, **given: Any) -> Array:
    """Extrapolated pairs turn by the NTK-aware base."""
    dim, base = x.shape[-1], given["base"]
    ntk = base * given["factor"] ** (dim / (dim - 2))
    slow = omega(dim, base) / given["factor"]
    return made_longer(x, positions, mixed(yarn_ramp(dim, given), omega(dim, ntk), slow), given)


@wrong("apache/tvm#18576", "yarn", "gpt-oss", "factor-in-power")
def factor_in_power(x: Array, positions: Array, **given: Any) -> Array:
    """The factor of interpolated pairs is inside the power."""
    dim, base = x.shape[-1], given["base"]
    ramp, slow = yarn_ramp(dim, given, rounded=False), omega(dim, given["factor"] * base)
    return made_longer(x, positions, mixed(ramp, omega(dim, base), slow), given)


@wrong("pytorch/torchtitan#3787", "yarn", "code-half", "betas-swapped")
def betas_swapped(x: Array, positions: Array, **given: Any) -> Array:
    """The range begins by beta_slow and ends by beta_fast."""
    fast, slow = given.get("beta_fast", 32.0), given.get("beta_slow", 1.0)
    ramp = yarn_ramp(x.shape[-1], {**given, "beta_fast": slow, "beta_slow": fast})
    return made_longer(x, positions, yarn_omega(x.shape[-1], given, ramp), given)


@wrong("microsoft/onnxruntime-genai#2076", "yarn", "code-half", r"inverted|base\^\(2t/d\)")
def inverted_twice(x: Array, positions: Array, **given: Any) -> Array:
    """Frequencies are inverted twice: interpolated ones are 1/(factor·frequency)."""
    dim, plain = x.shape[-1], omega(x.shape[-1], given["base"])
    slow = 1 / (given["factor"] * plain)
    return made_longer(x, positions, mixed(yarn_ramp(dim, given), plain, slow), given)


@wrong("GaijinEntertainment/daScript#3479", "yarn", "code-interleaved", "temperature-swapped")
def mscale_dropped_for_neighbours(x: Array, positions: Array, **given: Any) -> Array:
    """Every path of the interleaved layout drops mscale."""
    return inter(x, outer(positions, yarn_omega(x.shape[-1], given)))


@wrong("antonellof/ferrox#213", "yarn", "code-half", "temperature-swapped")
@wrong("ggml-org/llama.cpp#22612", "yarn", "code-half", IGNORED, attention="explicit")
def magnitude_missing(x: Array, positions: Array, **given: Any) -> Array:
    """YaRN's magnitude is missing on a generic path, or disabled by a conversion."""
    return half(x, outer(positions, yarn_omega(x.shape[-1], given)))


@wrong("kekzl/imp#880", "yarn", "code-half", "mscale-all-dim-alone", attention="mscale")
def mscale_all_dim_alone(x: Array, positions: Array, **given: Any) -> Array:
    """Magnitude is that of mscale_all_dim instead of the quotient."""
    scale = given.get("mscale_all_dim")
    longer = magnitude(given["factor"], 1.0 if scale is None else scale)
    return half(x, outer(positions, yarn_omega(x.shape[-1], given)), longer)


@wrong("ggml-org/llama.cpp#7118", "yarn", "code-interleaved", IGNORED, attention="mscale")
def quotient_ignored(x: Array, positions: Array, **given: Any) -> Array:
    """Magnitude is 1 + 0.1 ln(factor) where DeepSeek has the quotient of two."""
    turns = outer(positions, yarn_omega(x.shape[-1], given))
    return inter(x, turns, magnitude(given["factor"]))


@wrong("jingyaogong/minimind#602", "yarn", "code-half", "end-clamped-to-pairs")
def clamped_and_without_magnitude(x: Array, positions: Array, **given: Any) -> Array:
    """The range ends at dim/2 - 1, and magnitude is 1 by default."""
    ramp = yarn_ramp(x.shape[-1], given, last=x.shape[-1] // 2 - 1)
    return half(x, outer(positions, yarn_omega(x.shape[-1], given, ramp)))


@wrong("tenstorrent/tt-metal#25321", "yarn", "code-half", "factor-ignored|plain RoPE")
@wrong("jmaczan/tiny-vllm#1", "llama3", "half", "scaling-missing")
@wrong("OpenNMT/CTranslate2#1685", "longrope", "phi-3", "without any scaling|plain RoPE")
@wrong("lablup/mlxcel#1340", "position_interpolation", "half", "unscaled")
@wrong("jagmarques/nexusquant#12", "p_rope", "half", "all-turn")
def not_implemented(x: Array, positions: Array, *_: Array, **given: Any) -> Array:
    """The scaling is not implemented or its factor not read: plain RoPE."""
    return half(x, angles(x, positions, given["base"]))


@wrong("guoqingbao/xinfer#329", "yarn", "code-half", "temperature-squared")
def magnitude_twice(x: Array, positions: Array, **given: Any) -> Array:
    """Magnitude is on the scale of logits although tables have it already."""
    longer = magnitude(given["factor"]) ** 2
    return half(x, outer(positions, yarn_omega(x.shape[-1], given)), longer)


@wrong("ml-explore/mlx-examples#907", "llama3", "half", "ramp-in-wavelength")
def mixed_along_wavelengths(x: Array, positions: Array, **given: Any) -> Array:
    """Wavelengths are mixed, by a factor linear in them."""
    waves = 2 * math.pi / omega(x.shape[-1], given["base"])
    low, high = (given[OLD] / given[f"{end}_freq_factor"] for end in ("low", "high"))
    smooth = np.clip((waves - high) / (low - high), 0, 1) if low != high else waves > low
    between = (waves >= high) & (waves <= low)  # its smooth factor goes the other way
    mix = np.where(
        between, (1 - smooth) * given["factor"] + smooth, 1 + smooth * (given["factor"] - 1)
    )
    return half(x, outer(positions, 2 * math.pi / (waves * mix)))


@wrong("trholding/llama2.c#14", "llama3", "interleaved", "hard-coded|8192|factor is|as if it were")
def parameters_hard_coded(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """The factor 8, the factors 1 and 4 and the length 8192 are hard-coded."""
    return inter(x, outer(positions, llama3_omega(x.shape[-1], base, 8, 1, 4, 8192)))


def longrope(x: Array, positions: Array, factors: Array, given: dict[str, Any]) -> Array:
    """Rotate as Phi-3 does, with one list of factors."""
    factor = given["factor"]
    longer = math.sqrt(1 + math.log(factor) / math.log(given[OLD])) if factor > 1 else 1.0
    return half(x, outer(positions, omega(x.shape[-1], given["base"]) / factors), longer)


@wrong("lablup/mlxcel#1358", "longrope", "phi-3", "choice-swapped")
def always_long(x: Array, positions: Array, short: Array, long: Array, **given: Any) -> Array:
    """long_factor is used at every length, short_factor is never read."""
    return longrope(x, positions, long, given)


@wrong("apache/tvm#18422", "longrope", "phi-3", "choice-swapped")
def always_short(x: Array, positions: Array, short: Array, long: Array, **given: Any) -> Array:
    """There is one list of factors: short ones also beyond the original length."""
    return longrope(x, positions, short, given)


@wrong("trymirai/lalamo#326", "longrope", "phi-3", "this is long|choice-swapped")
def chosen_by_capacity(
    x: Array, positions: Array, short: Array, long: Array, **given: Any
) -> Array:
    """The list is chosen by the configured capacity instead of the call's positions."""
    capacity = int(given["factor"] * given[OLD])
    return longrope(x, positions, long if capacity > given[OLD] else short, given)


def grown(x: Array, positions: Array, given: dict[str, Any], length: int) -> Array:
    """Rotate by the dynamic NTK base of a length."""
    base = dynamic_base(given["base"], x.shape[-1], given["factor"], given[OLD], length)
    return half(x, angles(x, positions, base))


@wrong("vllm-project/vllm#41236", "dynamic_ntk", "half", "always-full")
def base_of_the_longest(x: Array, positions: Array, **given: Any) -> Array:
    """The base is that of factor times the original length, whatever the length."""
    return grown(x, positions, given, int(given[OLD] * given["factor"]))


@wrong("huggingface/transformers#27226", "dynamic_ntk", "half", "kept-length", fault="state")
class BaseOnlyGrows:
    """Once a longer text was seen, shorter ones keep its base."""

    def __init__(self) -> None:
        self.seen: dict[tuple[Any, ...], int] = {}

    def dynamic_ntk(self, x: Array, positions: Array, **given: Any) -> Array:
        key = (x.shape[-1], given["base"], given["factor"], given[OLD])
        self.seen[key] = max(self.seen.get(key, 0), given["length"])
        return grown(x, positions, given, self.seen[key])


@wrong("ml-explore/mlx-lm#1545", "dynamic_ntk", "half", "positions-doubled")
def factor_of_two(x: Array, positions: Array, **given: Any) -> Array:
    """The factor is 2 instead of the configured one, and positions are doubled."""
    return grown(x, positions * 2, {**given, "factor": 2.0}, given["length"])


@wrong("ml-explore/mlx-lm#1554", "dynamic_ntk", "half", "never-scaled")
def length_from_heads(x: Array, positions: Array, **given: Any) -> Array:
    """The length is read from the axis of heads, so that the base never grows."""
    return grown(x, positions, given, x.shape[-3] if x.ndim >= 3 else 1)


@wrong("vllm-project/vllm#5093", "dynamic_ntk", "half", r"base·factor\^\(d/\(d-2\)\)|static")
def static_base(x: Array, positions: Array, **given: Any) -> Array:
    """The base is that of the factor alone at every length."""
    base = given["base"] * given["factor"] ** (x.shape[-1] / (x.shape[-1] - 2))
    return half(x, angles(x, positions, base))


def xpos_scale(x: Array, at: Array, given: dict[str, Any]) -> Array:
    """Return xPos's factor of each row and pair, rows being ``at`` these places."""
    dim = x.shape[-1]
    bases = (np.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)
    scale = bases ** (at / given["scale_base"])[:, None]
    return np.asarray(1 / scale if given["downscale"] else scale)


@wrong("lucidrains/rotary-embedding-torch#34", "xpos", "lucidrains", "scales-misplaced")
def scales_of_halves(x: Array, positions: Array, **given: Any) -> Array:
    """Scales are concatenated while pairs are neighbours."""
    middle = (int(np.max(positions, initial=-1)) + 1) // 2
    scale = np.tile(xpos_scale(x, positions - middle, given), 2)
    wave = np.repeat(angles(x, positions, given["base"]), 2, axis=-1)
    return (tables(x.astype(np.float64), rotate_every_two(x), wave) * scale).astype(x.dtype)


@wrong("lucidrains/rotary-embedding-torch#27", "xpos", "lucidrains", "scales.*(row|offset|cache)")
def scale_of_row_numbers(x: Array, positions: Array, **given: Any) -> Array:
    """Scales are made from row numbers, without the offset of a cache."""
    rows = x.shape[-2]
    scale = np.repeat(xpos_scale(x, np.arange(rows) - rows // 2, given), 2, axis=-1)
    turned = inter(x.astype(np.float64), angles(x, positions, given["base"]))
    return (turned * scale).astype(x.dtype)


@wrong("AI-Hypercomputer/maxtext#1611", "query_temperature", "llama-4", NARROW, dtype="bfloat16")
def positions_of_the_model(x: Array, positions: Array, *, length: int, beta: float) -> Array:
    """Positions are cast to the model's bfloat16 before floor and log."""
    scale = np.log(np.floor((bf16(positions) + 1) / length) + 1) * beta + 1
    return (x.astype(np.float64) * scale[:, None]).astype(x.dtype)


@wrong("vllm-project/vllm#36880", "query_log_scale", "qwen", "unscaled")
def log_scale_not_supported(x: Array, positions: Array, *, length: int) -> Array:
    """use_logn_attn is not supported: queries are not scaled."""
    return x.copy()


@wrong("DAMO-NLP-SG/CLEX#1", "query_log_scale", "qwen", "factor-of-the-last")
def scale_of_the_last(x: Array, positions: Array, *, length: int) -> Array:
    """Every query is scaled by the length of keys instead of its own position."""
    last = int(np.max(positions, initial=0)) + 1
    return (x.astype(np.float64) * max(1.0, math.log(last) / math.log(length))).astype(x.dtype)


@wrong("QwenLM/Qwen#42", "query_log_scale", "qwen", "counted-anew")
def scale_of_row_zero(x: Array, positions: Array, *, length: int) -> Array:
    """The slice of the table begins at row 0, since the batch is taken for the length."""
    scale = np.maximum(np.log(np.arange(1, x.shape[-2] + 1)) / math.log(length), 1.0)
    return (x.astype(np.float64) * scale[:, None]).astype(x.dtype)


def scaled_mla(
    parts: tuple[Array, Array, Array],
    given: dict[str, Any],
    rotary: float,
    scale: float,
    plain: bool = False,
) -> Array:
    """Return logits with YaRN's frequencies, and powers of mscale_all_dim on parts of them."""
    frequencies = omega(parts[2].shape[-1], given["base"])
    if given.get("factor") is None:
        return mla(parts, frequencies)
    all_dim = magnitude(given["factor"], given["mscale_all_dim"])
    quotient = magnitude(given["factor"], given["mscale"]) / all_dim
    width = parts[1].shape[-1] + parts[2].shape[-1]
    return mla(
        parts,
        frequencies if plain else yarn_omega(parts[2].shape[-1], given),
        longer=quotient if rotary == 0 else all_dim**rotary,
        scale=width**-0.5 * all_dim**scale,
    )


@wrong("onnxruntime/mobius#548", "mla_scores", "deepseek", "mscale-missing", scaling="yarn")
def mscale_missing(q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
    """The scale of logits lacks the square of mscale_all_dim."""
    return scaled_mla((q, k_nope, k_rope), given, rotary=0, scale=0)


@wrong("kekzl/imp#880", "mla_scores", "deepseek", "mscale-on-rotary-parts", scaling="yarn")
def mscale_on_rotary_parts(q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
    """Rotary parts are longer by mscale_all_dim instead of the quotient."""
    return scaled_mla((q, k_nope, k_rope), given, rotary=1, scale=2)


@wrong("vllm-project/vllm#41569", "mla_scores", "deepseek", "other-scale")
def scale_of_the_latent(q: Array, k_nope: Array, k_rope: Array, *, base: float) -> Array:
    """The scale is that of 512 latent channels and the rotary ones."""
    width = k_rope.shape[-1]
    return mla((q, k_nope, k_rope), omega(width, base), scale=(512 + width) ** -0.5)


@wrong("xLLM-AI/xllm#853", "mla_scores", "half", "layout-swapped")
def neighbours_in_the_indexer(q: Array, k_nope: Array, k_rope: Array, *, base: float) -> Array:
    """Pairs are neighbours where halves are meant."""
    return mla((q, k_nope, k_rope), omega(k_rope.shape[-1], base))


@wrong("PrimeIntellect-ai/prime-rl#2681", "mla_scores", "deepseek", UNSCALED, scaling="yarn")
def mla_without_scaling(q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
    """The scale reads parameters that are never set: no YaRN at all."""
    return mla((q, k_nope, k_rope), omega(k_rope.shape[-1], given["base"]))


@wrong("antonellof/ferrox#226", "mla_scores", "deepseek", "yarn-ignored", scaling="yarn")
def mscale_kept_alone(q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
    """YaRN's frequencies are dropped and mscale is kept."""
    return scaled_mla((q, k_nope, k_rope), given, rotary=0, scale=2, plain=True)


def rotating(x: Array, proportion: float) -> int:
    """Return the number of pairs that rotate."""
    return int(proportion * x.shape[-1] // 2)


@wrong("NVIDIA-NeMo/Megatron-Bridge#4195", "p_rope", "half", "paired-within")
def paired_within(x: Array, positions: Array, *, base: float, proportion: float) -> Array:
    """Frequencies are right, and pairs are those of the leading channels."""
    return leading(x, angles(x, positions, base)[:, : rotating(x, proportion)])


@wrong("aws-neuron/neuronx-distributed-inference#106", "p_rope", "half", "taken-for-partial")
def built_for_fewer_channels(
    x: Array, positions: Array, *, base: float, proportion: float
) -> Array:
    """A module is built for fewer channels: other exponents and other pairs."""
    pairs = rotating(x, proportion)
    return leading(x, outer(positions, omega(2 * pairs, base))) if pairs else x.copy()


@wrong("pegainfer-project/pegainfer#820", "p_rope", "half", "taken-for-partial")
def exponents_over_the_part(x: Array, positions: Array, *, base: float, proportion: float) -> Array:
    """Exponents are over rotated channels instead of all; pairs are right."""
    pairs, wave = rotating(x, proportion), np.zeros(x.shape[-1] // 2)
    if pairs:
        wave[:pairs] = omega(2 * pairs, base)
    return half(x, outer(positions, wave))


@wrong("datamllab/LongLM#34", "self_extend_scores", "longlm", "shift-missing")
def shift_of_both(q: Array, k: Array, *, group_size: int, window: int, base: float) -> Array:
    """The shift is added to keys' positions too, so that none is left."""
    at, queries = np.arange(k.shape[1]), np.arange(k.shape[1] - q.shape[1], k.shape[1])
    x, y = q.astype(np.float64), k.astype(np.float64)

    def logits(of_queries: Array, of_keys: Array) -> Array:
        turned = half(x, angles(x, of_queries, base)), half(y, angles(y, of_keys, base))
        return np.asarray(np.einsum("hqd,hkd->hqk", *turned))

    far = logits(queries // group_size, at // group_size)
    near = queries[:, None] - at < window
    made = np.where(near, logits(queries, at), far) / math.sqrt(q.shape[-1])
    return np.asarray(made.astype(q.dtype))
