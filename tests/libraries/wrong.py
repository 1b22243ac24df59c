"""Wrong ones: name, source, the convention that each comes nearest to, and its mistake by name."""

from dataclasses import dataclass

from tests.libraries.right import (
    ALIBI_BIAS,
    MODULE_WITH_CACHE,
    NUMPY_FUNCTION,
    SINUSOID_WHISPER,
    SINUSOID_WITH_OFFSET,
    STORED_TABLE,
    T5_BIAS,
    TORCH_FUNCTION,
    WINDOW_MASK,
    WITH_CACHE,
)


@dataclass(frozen=True)
class Library:
    name: str
    source: str
    call: str
    combination: str
    mistake: str
    """What a run of the adapter must say: the id of a deviation, or what it is without a name."""


def _changed(source: str, before: str, after: str) -> str:
    assert before in source
    return source.replace(before, after)


LIBRARIES = (
    Library(
        "cache_ignored",
        _changed(WITH_CACHE, "positions = start_pos + ", "positions = "),
        "rope",
        "half",
        "rows stand at 0, 1, 2, …: positions (or the length of the cache) are ignored",
    ),
    Library(
        "cache_of_a_module_ignored",
        _changed(
            MODULE_WITH_CACHE,
            "torch.arange(offset, offset + x.shape[-2])",
            "torch.arange(x.shape[-2])",
        ),
        "rope",
        "half",
        "rows stand at 0, 1, 2, …: positions (or the length of the cache) are ignored",
    ),
    Library(
        "cache_of_a_sinusoid_ignored",
        _changed(SINUSOID_WITH_OFFSET, "[offset : offset + x.shape[1]]", "[: x.shape[1]]"),
        "sinusoidal",
        "paper",
        "rows stand at 0, 1, 2, …: positions (or the length of the cache) are ignored",
    ),
    Library(
        "t5_of_first_queries",
        _changed(T5_BIAS, "torch.arange(k_len - q_len, k_len)", "torch.arange(q_len)"),
        "t5_bias",
        "bidirectional",
        "[bias-queries-from-zero",
    ),
    Library(
        "degrees",
        _changed(NUMPY_FUNCTION, "np.outer(positions,", "np.outer(np.deg2rad(positions),"),
        "rope",
        "half",
        "degrees",
    ),
    Library(
        "from_one",
        _changed(NUMPY_FUNCTION, "np.outer(positions,", "np.outer(positions + 1,"),
        "rope",
        "half",
        "positions-shifted",
    ),
    Library(
        "sign",
        _changed(NUMPY_FUNCTION, "np.outer(positions,", "np.outer(-positions,"),
        "rope",
        "half",
        "sign-flipped",
    ),
    Library(
        "another_base",
        _changed(TORCH_FUNCTION, "omega = base", "omega = (base / 2)"),
        "rope",
        "interleaved",
        "wrong-base",
    ),
    Library(
        "base_ignored",
        _changed(NUMPY_FUNCTION, "theta ** (-np", "10000.0 ** (-np"),
        "rope",
        "half",
        "wrong-base",
    ),
    Library(
        "exponent_doubled",
        _changed(SINUSOID_WHISPER, "np.exp(-step", "np.exp(-2 * step"),
        "sinusoidal",
        "tensor2tensor",
        "exponent-doubled",
    ),
    Library(
        "positive_alibi",
        _changed(ALIBI_BIAS, "return -np", "return np"),
        "alibi_bias",
        "symmetric",
        "bias-sign-flipped",
    ),
    Library(
        "window_two_larger",
        _changed(WINDOW_MASK, "key > at - window", "key > at - window - 2"),
        "sliding_window",
        "window-before",
        "matches a window of",
    ),
    Library(
        "stored_table_from_1",
        _changed(
            STORED_TABLE, "np.arange(max_len)[:, None] *", "np.arange(1, max_len + 1)[:, None] *"
        ),
        "sinusoidal",
        "paper",
        "positions-shifted",
    ),
)
