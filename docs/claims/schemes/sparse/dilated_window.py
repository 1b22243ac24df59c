import numpy as np

import posenc

REACHES = {"window-each-side": (1, 1), "window-before": (1, 0), "half-each-side": (0.5, 0.5)}


def keys_not_tokens() -> None:
    """The number of keys of the middle query and the farthest ones, for all three reaches."""
    for window in (2, 4, 6):
        for dilation in (1, 2, 3, 5):
            for reach, (before, after) in REACHES.items():
                mask = posenc.dilated_window(101, 101, window, dilation, reach=reach)
                keys = np.flatnonzero(mask[50]) - 50
                assert keys[0] == -before * window * dilation
                assert keys[-1] == after * window * dilation
                assert len(keys) == (before + after) * window + 1
                assert (np.diff(keys) == dilation).all()


def no_dilation() -> None:
    """Masks of dilation 1 are those of the plain window, for all three reaches."""
    for window in (0, 2, 4, 6):
        for reach in REACHES:
            plain = posenc.sliding_window(30, 40, window, reach=reach)
            assert np.array_equal(posenc.dilated_window(30, 40, window, 1, reach=reach), plain)


def classes() -> None:
    """Rows and columns of equal remainder form a plain window; all others are empty."""
    for dilation in (2, 3, 5):
        mask = posenc.dilated_window(60, 60, 4, dilation)
        for query in range(dilation):
            for key in range(dilation):
                part = mask[query::dilation, key::dilation]
                rows, columns = part.shape
                expected = posenc.sliding_window(rows, columns, 4, reach="window-each-side")
                assert np.array_equal(part, expected if query == key else 0 * expected)


def negative_remainder() -> str:
    """Python's remainder, and NumPy's fmod, which is C's."""
    assert np.fmod(-3, 2) == -1
    return f"is {-3 % 2} in Python"


def nine_keys() -> tuple[str, str]:
    """The keys of one query, counted in the mask."""
    mask = posenc.dilated_window(300, 300, 4, 16)
    keys = np.flatnonzero(mask[100])
    assert len(keys) == 9
    assert keys[-1] - keys[0] + 1 == 129
    assert np.flatnonzero(mask[100, 95:106]).tolist() == [5]
    return "\\(d = 16\\)", f"{keys[3]} and {keys[5]}"
