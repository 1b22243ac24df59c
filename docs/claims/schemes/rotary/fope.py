import numpy as np

import posenc


def remaining() -> str:
    """The number of rows of coefficients in posenc for 128 channels and 512 positions."""
    counts = []
    for rows in range(1, 65):
        matrix = np.ones((rows, 1))
        try:
            posenc.fope(
                np.ones((1, 128)), [0], matrix, matrix, original_max_position_embeddings=512
            )
        except ValueError:
            continue
        counts.append(rows)
    (rows,) = counts
    return f"{rows} of 64."


def moved() -> tuple[str, ...]:
    """Logits of a query and the key before it, at two positions."""
    coefficients = [[1.0], [0.5]]
    x = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0]])
    logits = []
    for positions in ([0, 1], [2, 3]):
        y = posenc.fope(
            x, positions, coefficients, coefficients, original_max_position_embeddings=1024
        )
        logits.append(f"{y[0] @ y[1]:.3f}")
    return tuple(logits)


def doubled() -> str:
    """Logits of pairs beyond the columns, in both forms."""
    none = np.zeros((3, 0))
    x = np.random.default_rng(5).normal(size=(2, 8))
    sums = []
    for form in ("ones", "unchanged"):
        y = posenc.fope(x, [3, 700], none, none, original_max_position_embeddings=1024, rest=form)
        sums.append(y[0] @ y[1])
    assert np.isclose(sums[0], 2 * sums[1])
    return "twice"
