import re

import ml_dtypes
import numpy as np

import posenc
from posenc_conformance.registry import load_all


def _digits(alignment: str) -> str:
    rows = posenc.causal_mask(2, 5, alignment=alignment).astype(int)
    return ", ".join(f"`{''.join(map(str, row))}`" for row in rows)


def aligned_at_end() -> str:
    """The mask of 2 queries and 5 keys, aligned at the end."""
    return _digits("end")


def aligned_at_start() -> str:
    """The mask of 2 queries and 5 keys, aligned at the start."""
    return _digits("start")


def flash_readme() -> tuple[str, str]:
    """The masks printed in the README are those of the two alignments, by version."""
    scheme = next(scheme for scheme in load_all() if scheme.id == "causal-mask")
    versions = {}
    for value in scheme.published:
        alignment = "start" if value.combination == "start" else "end"
        mask = posenc.causal_mask(**value.arguments, alignment=alignment)
        for query, key, printed in value.printed:
            assert bool(int(printed)) == mask[int(query), int(key)]
        versions[alignment] = re.findall(r"v(\d\.\d)", value.note)[0]
    return f"until {versions['start']}", f"with {versions['end']}"


def own_square() -> None:
    """The boolean square of the mask is the mask, for lengths up to 20."""
    for n in range(1, 21):
        mask = posenc.causal_mask(n, n)
        assert np.array_equal(mask.astype(int) @ mask.astype(int) > 0, mask)


def first_token() -> None:
    """Attention with equal logits, values 1 for the first token and 0 for the others."""
    n = 50
    nothing, values = np.zeros((1, n, 2)), np.zeros((1, n, 1))
    values[0, 0] = 1
    got = posenc.attention(nothing, nothing, values, mask="causal")[0, :, 0]
    assert np.allclose(got, 1 / np.arange(1, n + 1), rtol=1e-15)


def narrow_positions() -> tuple[str, str]:
    """300 in 8 bits, and the first integer that bfloat16 cannot represent."""
    whole = np.arange(1, 1000)
    lost = whole[whole.astype(ml_dtypes.bfloat16).astype(int) != whole]
    eight_bits = np.array([300]).astype(np.uint8)[0]
    return f"position 300 stands at {eight_bits}", f"from {lost[0]} on"


def one_too_late() -> str:
    """The twelfth boolean power of a mask that shows one key too many."""
    n = 30
    late = np.tri(n, n, 1, dtype=int)
    reached = np.eye(n, dtype=int)
    for _ in range(12):
        reached = np.minimum(reached @ late, 1)
    assert np.flatnonzero(reached[0]).tolist() == list(range(13))
    return f"key {np.flatnonzero(reached[0]).max()}"


def tiles() -> tuple[str, str, str]:
    """Pairs and tiles counted in the mask."""
    mask = posenc.causal_mask(2048, 2048)
    touched = mask.reshape(16, 128, 16, 128).any(axis=(1, 3)).sum()
    assert mask.sum() == 2048 * 2049 // 2
    return f"{mask.sum():,} of {mask.size:,}", f"256/{touched}", f"{256 / touched:.2f} times"
