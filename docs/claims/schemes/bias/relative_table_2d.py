from itertools import product

import posenc


def too_few() -> None:
    """Rows of a window of two by two with a base of 2: seven for nine offsets."""
    offsets = list(product(range(3), repeat=2))
    assert len({below * 2 + beside for below, beside in offsets}) == 7
    assert len(set(posenc.relative_table_2d_rows(2, 2).ravel().tolist())) == len(offsets) == 9


def nnformer() -> tuple[str, str]:
    """The number of different sums of offsets in three dimensions with nnFormer's factors."""
    offsets = list(product(range(7), repeat=3))
    rows = {a * (3 * 4 - 1) + b * (2 * 4 - 1) + c for a, b, c in offsets}
    return f"{len(offsets)} offsets", f"{len(rows)} rows"
