import numpy as np

import posenc


def _sums(keys: int, dim: int = 128) -> np.ndarray:
    """Compute the sums of cosines at distances from 0 on, for a head that divides by 1."""
    row = posenc.sandwich_bias(8, 1, keys, dim=dim, exponents="from-0", own_key="largest")[0, 0]
    sums = row[::-1]
    table = posenc.sinusoidal(np.arange(keys), dim)
    assert np.allclose(sums, table @ table[0])
    return sums


def falling() -> tuple[str, ...]:
    """The sum at distances 10, 100 and 1,000 with 128 channels."""
    sums = _sums(1001)
    return tuple(f"{sums[at]:.1f}" for at in (10, 100, 1000))


def waves() -> str:
    """The number of the first 100 steps away from the query that increase the sum."""
    return f"in {np.count_nonzero(np.diff(_sums(101)) > 0)} of"
