import ml_dtypes
import numpy as np
import sympy

import posenc


def squared_lengths() -> tuple[str, str]:
    """Squared lengths of positions 1 and 1,000 with four channels."""
    rows = posenc.integer([1, 1000], 4)
    near, far = (rows * rows).sum(axis=1)
    return f"{near:.0f} at position 1 ", f"{far:,.0f} at position 1,000"


def _cosines(rows: np.ndarray) -> np.ndarray:
    """Compute the cosine of two words after the same row is added to both, for each of the rows.

    One word repeats 1, -1; the other repeats 1, 1, -1, -1.
    """
    first = np.tile([1.0, -1.0], 32) + rows
    two = np.tile([1.0, 1.0, -1.0, -1.0], 16) + rows
    return (first * two).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(two, axis=1)


def same_word() -> tuple[str, ...]:
    """Cosines of two orthogonal words after adding, at positions up to 1,000."""
    positions = np.arange(1001)
    whole = _cosines(posenc.integer(positions, 64))
    assert whole[0] == 0
    assert (np.diff(whole) > 0).all()
    waves = _cosines(posenc.sinusoidal(positions, 64))
    return (
        f"{whole[1]:.1f} at position 1 ",
        f"{whole[10]:.2f} at position 10",
        f"at most {waves.max():.2f}",
    )


def neighbours() -> tuple[str, str]:
    """Dot products of neighbours with four channels."""
    rows = posenc.integer([1, 2, 3], 4)
    return f"1 and 2 give {rows[0] @ rows[1]:.0f}", f"2 and 3 give {rows[1] @ rows[2]:.0f}"


def normalised_away() -> None:
    """SymPy: subtracting the mean removes p; and NumPy's layer normalisation at 0, 1 and 1,000."""
    x, p = sympy.Matrix(sympy.symbols("x:4")), sympy.Symbol("p")

    def centred(row: sympy.Matrix) -> sympy.Matrix:
        return row - sympy.ones(4, 1) * sum(row) / 4

    assert (centred(x + p * sympy.ones(4, 1)) - centred(x)).expand() == sympy.zeros(4, 1)
    rows = np.array([0.5, -1.0, 2.0, 0.25]) + posenc.integer([0, 1, 1000], 4)
    rows = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    assert np.abs(rows - rows[0]).max() < 1e-12


def small_steps() -> tuple[str, str]:
    """The spacing of bfloat16 numbers above 1/4, and the first position where a step is lost."""
    gap = float(np.spacing(ml_dtypes.bfloat16(0.25)))
    steps = np.arange(1001) / 1000
    rounded = steps.astype(ml_dtypes.bfloat16).astype(float)
    lost = steps[:-1][np.diff(rounded) == 0]
    assert lost.min() >= 0.25
    assert lost.min() < 0.26
    return f"{gap:.5f}", f"from {int(lost.min() * 100) / 100} on"


def whole_numbers() -> tuple[str, str]:
    """The largest integer up to which each dtype holds all integers; 256 and 257 in bfloat16."""
    ends = []
    for dtype, near in ((np.float32, 2**24), (np.float16, 2**11), (ml_dtypes.bfloat16, 2**8)):
        tried = np.arange(near - 20, near + 20)
        wrong = tried[tried.astype(dtype).astype(np.float64) != tried]
        ends.append(int(wrong[0]) - 1)
    assert ends[0] == 2**24
    rows = posenc.integer([256, 257], 3, dtype=ml_dtypes.bfloat16)
    assert (rows[0] == rows[1]).all()
    return f"float16 up to {ends[1]:,}", f"bfloat16 up to {ends[2]}"


def largest() -> str:
    """The largest finite number of float16."""
    return f"{np.finfo(np.float16).max:,.0f}"
