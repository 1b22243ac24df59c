import numpy as np

import posenc


def turned() -> None:
    """Without sizes, a box and its reverse have equal sums; with clipped sizes they do not."""
    box, around = [[1, 2, 3, 4]], [[3, 4, 1, 2]]
    x, y = (np.arange(10.0 * start, 10.0 * start + 10).reshape(5, 2) for start in (1, 3))
    none = np.zeros((5, 2))
    first, other = (
        posenc.layout_embedding(boxes, x, y, none, none, join="sum", sizes="clipped")
        for boxes in (box, around)
    )
    assert np.array_equal(first, other)
    h, w = x[::-1], y[::-1]
    first, other = (
        posenc.layout_embedding(boxes, x, y, h, w, join="sum", sizes="clipped")
        for boxes in (box, around)
    )
    assert not np.array_equal(first, other)


def unused() -> str:
    """Rows that no edge and no size between 0 and 1000 reads."""
    return f"{1024 - len(range(1001))} rows"
