import math


def full_turn() -> str:
    """Twice pi, to two decimals."""
    return f"{2 * math.pi:.2f}"
