import math

import numpy as np
from posenc_lab.field.implementation import SETS
from posenc_lab.field.said import MISNAMED, REFUSED

import posenc
from blocks.measured_blocks import KIT, read_bench, read_results, totals
from claims import rounded


def every_miniature() -> None:
    """The recorded matrix: wrong ones all rejected, nameable ones named first, no false alarm."""
    data = read_results("matrix")
    counts, right = data["all"], data["right"]
    assert counts["rejected"] == counts["wrong"]
    assert counts["named_first"] == counts["nameable"]
    assert right["rejected"] == 0


def what_people_write() -> None:
    """The kept results of all benches: nothing right refused, no needless state, no wrong name."""
    for name in SETS:
        rows = read_bench(name).values()
        namings = {row["naming"] for row in rows}
        assert not namings & {REFUSED, MISNAMED}
        assert not any(row["state_in_vain"] for row in rows)


def others() -> None:
    """The recorded comparison: only the kit rejects all wrong miniatures, and no right one."""
    data = read_results("today")
    rejected, judged = totals(data["wrong"], KIT)
    assert rejected == judged
    assert totals(data["right"], KIT)[0] == 0
    for way in data["ways"]:
        caught, tried = totals(data["wrong"], way)
        assert caught < tried, way


def near_zero() -> tuple[str, ...]:
    """Values at which allclose rejects a float32 rotation that is right up to rounding."""
    x = np.random.default_rng(0).standard_normal((8, 16, 64)).astype(np.float32)
    omega = rounded(np.power, 10000, -np.arange(32) / 32)
    angles = np.arange(16, dtype=np.float32)[:, None] * omega
    a, b, cos, sin = x[..., :32], x[..., 32:], rounded(np.cos, angles), rounded(np.sin, angles)
    got = np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    expected = posenc.rope(x.astype(np.float64), np.arange(16), layout="half")
    error = np.abs(got - expected)
    rejected = ~np.isclose(got, expected)
    assert got.dtype == np.float32
    assert rejected.any()
    assert not np.allclose(got, expected)
    least = np.abs(expected[rejected]).max()
    return (
        f"up to {np.abs(x).max():.1f}",
        f"off by more than {error.max():.1e}",
        f"below {math.ceil(100 * least) / 100}",
    )
