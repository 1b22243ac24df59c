import numpy as np

import posenc


def _factor(place: int, count: str = "from-1") -> float:
    """Compute posenc's factor at a position, from a query of 1."""
    return float(posenc.query_temperature(np.ones((1, 1)), [place], count=count)[0, 0])


def two_floors() -> tuple[str, str]:
    """posenc's factors by both counts differ only at position 8,191."""
    assert _factor(8191, count="from-0") == 1
    places = np.arange(16383)
    x = np.ones((len(places), 1))
    first, other = (posenc.query_temperature(x, places, count=c) for c in ("from-1", "from-0"))
    assert np.flatnonzero(first != other).tolist() == [8191]
    return f"{_factor(8191):.3f}", "8,191"


def half() -> None:
    """The weight of one key among n with the factor derived in the text."""
    for length, keys in ((100, 1000), (2048, 32768)):
        logit = np.log(length - 1) * np.log(keys - 1) / np.log(length - 1)
        assert abs(np.exp(logit) / (np.exp(logit) + keys - 1) - 0.5) < 1e-9


def staircase() -> tuple[str, str, str]:
    """posenc's factors of both forms, at L and 1000 L."""
    far = 1000 * 8192
    log = posenc.query_log_scale(np.ones((1, 1)), [far - 1], length=8192)[0, 0]
    return f"{_factor(8191):.3f}", f"{_factor(far - 1):.3f}", f"{log:.3f}"
