import numpy as np

import posenc


def _part(name: str, n: int = 40, stride: int = 6) -> np.ndarray:
    return posenc.strided_mask(n, n, stride, part=name).astype(int)


def one_union() -> None:
    """Either local part, united with the column, is the union; the local parts differ."""
    for stride in range(1, 12):
        union = _part("union", stride=stride)
        for local in ("local", "local-inclusive"):
            assert np.array_equal(
                _part(local, stride=stride) | _part("column", stride=stride), union
            )
        assert not np.array_equal(
            _part("local", stride=stride), _part("local-inclusive", stride=stride)
        )


def two_steps() -> None:
    """Products of local part and column, in both orders, are the whole triangle."""
    for n in (1, 5, 40):
        triangle = posenc.causal_mask(n, n)
        for stride in range(1, 12):
            local, column = _part("local", n, stride), _part("column", n, stride)
            assert np.array_equal(local @ column > 0, triangle)
            assert np.array_equal(column @ local > 0, triangle)


def stride_too_large() -> None:
    """Columns of stride l + 1 with l local keys leave pairs unreached."""
    for stride in range(1, 12):
        reached = _part("local", stride=stride) @ _part("column", stride=stride + 1) > 0
        assert not np.array_equal(reached, posenc.causal_mask(40, 40))


def how_many() -> None:
    """Keys per query of the union against the formula."""
    place = np.arange(40)
    for stride in range(1, 12):
        counts = _part("union", stride=stride).sum(axis=1)
        assert np.array_equal(counts, np.minimum(place + 1, stride) + place // stride)
