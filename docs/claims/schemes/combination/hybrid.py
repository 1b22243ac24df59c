import numpy as np

import posenc


def own_logits() -> tuple[str, ...]:
    """The diagonal of the golden's logits, computed without the reference's function."""
    w_q, w_k = np.array([1.0, 0.5]), np.array([0.5, 1.0])
    table, x = np.zeros((5, 1)), np.zeros((3, 2))
    got = posenc.hybrid_scores(x, w_q[None, :, None], w_k[None, :, None], table)[0]
    places = np.array([[np.sin(p), np.cos(p)] for p in range(3)])
    assert np.abs(got - np.outer(places @ w_q, places @ w_k)).max() < 1e-15
    own = np.diagonal(got)
    return f"{own[0]:.1f}, {own[1]:.3f} and {own[2]:.3f}", "three places"


def symmetric() -> None:
    """For x = 0 and equal matrices, logits are symmetric; a table or another matrix breaks this."""
    w = (7 * np.arange(12).reshape(1, 4, 3) % 11 - 5) / 8
    x, none, table = np.zeros((6, 4)), np.zeros((3, 1)), np.array([[-1.0], [0.0], [1.0]])

    def asymmetry(logits: np.ndarray) -> float:
        return float(np.abs(logits[0] - logits[0].T).max())

    assert asymmetry(posenc.hybrid_scores(x, w, w, none)) < 1e-15
    assert asymmetry(posenc.hybrid_scores(x, w, w, table)) > 1
    assert asymmetry(posenc.hybrid_scores(x, w, w[:, ::-1], none)) > 0.1
