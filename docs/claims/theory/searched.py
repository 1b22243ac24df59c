import math
from functools import lru_cache
from typing import Any

import numpy as np

import posenc

PAIRS, POSITIONS, NEAR = 4, 512, 16
PAPER = 10000.0 ** -(np.arange(PAIRS) / PAIRS)


def _cosines(frequencies: Any) -> Any:
    """Compute the cosine of two rows by distance, for each set of frequencies [..., pairs]."""
    return np.cos(frequencies[..., None, :] * np.arange(POSITIONS)[:, None]).mean(axis=-1)


@lru_cache(maxsize=1)
def _drawn() -> tuple[Any, Any]:
    """Draw random sets of frequencies, and compute their cosines."""
    random = np.random.default_rng(0)
    sets = np.exp(random.uniform(math.log(1e-4), math.log(math.pi), size=(5000, PAIRS)))
    return sets, np.concatenate([_cosines(part) for part in np.split(sets, 50)])


def _most_distinct() -> int:
    return int(_drawn()[1][:, 1:].max(axis=1).argmin())


def _falls(cosines: Any) -> Any:
    return (np.diff(cosines[..., : NEAR + 1]) < 0).all(axis=-1)


def _best_falling() -> int:
    cosines = _drawn()[1]
    far = np.where(_falls(cosines), cosines[:, NEAR + 1 :].max(axis=1), 2.0)
    return int(far.argmin())


def longrope_space() -> str:
    """The count of the paper, with two digits; with both ends there are 401 factors."""
    assert round((1.25 * 4 - 1) / 0.01) + 1 == 401
    count = 400**64 * 14
    return f"about {count / 10**167:.1f}·10¹⁶⁷"


def longrope_monotone() -> str:
    """Rising sequences of 64 factors out of 400, times 14: combinations with repetition."""
    assert sum(1 for a in range(5) for b in range(a, 5) for c in range(b, 5)) == math.comb(7, 3)
    count = math.comb(400 + 64 - 1, 64) * 14
    return f"leaves {count / 10**80:.1f}·10⁸⁰"


def known_are_monotone() -> None:
    """Factors of the three starting points for s = 4, from the reference's frequencies."""
    plain = 10000.0 ** -(np.arange(64) / 64)
    for scaled in (
        posenc.position_interpolation_frequencies(128, factor=4.0),
        posenc.ntk_aware_frequencies(128, factor=4.0),
        posenc.yarn_frequencies(128, factor=4.0, original_max_position_embeddings=4096),
    ):
        factors = plain / scaled
        assert (np.diff(factors) >= -1e-12).all()
        assert factors.min() >= 1 - 1e-12
        assert factors.max() <= 1.25 * 4


def convolution_tells_order() -> None:
    """Attention over reversed tokens, with and without mixing each token with the two before it."""
    random = np.random.default_rng(8)
    x, (wq, wk, wv) = random.normal(size=(6, 8)), random.normal(size=(3, 8, 8))
    taps = random.normal(size=(3, 8))

    def layer(tokens: Any, *, mixed: bool) -> Any:
        parts = []
        for weight in (wq, wk, wv):
            part = tokens @ weight
            if mixed:
                padded = np.concatenate([np.zeros((2, 8)), part])
                part = sum(taps[k] * padded[k : k + len(part)] for k in range(3))
            parts.append(part[None])
        return posenc.attention(*parts, mask="none")[0]

    for mixed in (False, True):
        same = np.allclose(layer(x[::-1], mixed=mixed)[::-1], layer(x, mixed=mixed))
        assert same is not mixed


def kerple_contains_alibi() -> None:
    """KERPLE's power form with exponent 1 equals ALiBi at all visible keys."""
    slopes = posenc.alibi_slopes(8)
    power = posenc.kerple_bias(slopes, np.ones(8), 12, 12, form="power")
    seen = np.tril(np.ones((12, 12), dtype=bool))
    assert np.allclose(power[:, seen], posenc.alibi_bias(8, 12, 12)[:, seen], rtol=1e-15)


def distinct() -> tuple[str, ...]:
    """Largest cosine of two positions: with the paper's frequencies, the random sets, all bases."""
    paper = _cosines(PAPER)[1:].max()
    best = _drawn()[1][_most_distinct(), 1:].max()
    bases = np.geomspace(1.0001, 1e6, 2000)
    by_base = _cosines(bases[:, None] ** -(np.arange(PAIRS) / PAIRS))[:, 1:].max(axis=1)
    assert by_base.min() < best < paper
    return (
        f"reach {paper:.3f}",
        f"reaches {best:.2f}",
        f"finds {by_base.min():.3f}, at base {bases[by_base.argmin()]:.2f}",
    )


def falling() -> str:
    """The paper's cosines nearby, and the fastest frequency and first cosine of the best set."""
    paper = _cosines(PAPER)
    assert not _falls(paper)
    sets, cosines = _drawn()
    best = _best_falling()
    assert _falls(cosines[best])
    assert sets[best].max() < 0.2
    assert cosines[best, 1] > 0.99
    assert cosines[best, NEAR + 1 :].max() < paper[NEAR + 1 :].max()
    return f"distance {int(np.argmax(np.diff(paper) > 0)) + 1}"
