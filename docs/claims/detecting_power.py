import math
import re

import numpy as np

import posenc
from claims import rounded
from measured_blocks import KIT, measured, totals
from pages import DOCS

LIBRARY = "a library's own tests"
ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+")


def every_miniature() -> tuple[str, ...]:
    """The recorded matrix: all wrong ones rejected, all with a name named first, no false alarm."""
    data = measured("matrix")
    found, right = data["all"], data["right"]
    assert found["rejected"] == found["wrong"]
    assert found["named_first"] == found["nameable"]
    assert right["rejected"] == 0
    return (
        f"{found['wrong']:,} wrong",
        f"{found['nameable']:,} of them",
        f"{found['named_anyway']} of the other",
        f"the other {found['wrong'] - found['nameable']:,}",
        f"{right['passed']} right",
    )


def first_try() -> tuple[str, ...]:
    """The recorded bench of bugs that the kit was not made for, as it was at first."""
    counts = measured("field")["first"]["counts"]
    threads, own = counts["threads"], counts["own"]
    assert threads["not rejected"] == own["not rejected"] == 0
    right = [each["named rightly"] + each["no name, rightly"] for each in (threads, own)]
    return (
        f"all {threads['bugs']} bugs",
        f"{right[0]} of them",
        f"{threads['unnamed']} unnamed",
        f"{threads['named wrongly']} wrongly",
        f"Of {own['bugs']} made up it named {right[1]} rightly",
        f"{own['named wrongly']} wrongly",
    )


def known_threads() -> str:
    """How many of the threads a scheme file links to as well."""
    linked = {
        _place(address)
        for path in (DOCS.parent / "spec").rglob("*.yaml")
        for address in ADDRESS.findall(path.read_text(encoding="utf-8"))
    }
    bugs = measured("field")["first"]["bugs"]
    return f"{sum(_place(each['thread']) in linked for each in bugs if each['thread'])} stand"


def _place(address: str) -> tuple[str, ...]:
    """Owner, repository and number; a number is an issue's or a pull request's, not both."""
    *place, _, number = address.rsplit("/", 4)[1:]
    return *place, number


def others() -> tuple[str, ...]:
    """The recorded comparison: what each way rejects of the wrong miniatures within its reach."""
    data = measured("today")
    rejected, asked = totals(data["wrong"], KIT)
    assert rejected == asked
    assert totals(data["right"], KIT)[0] == 0
    alarms, some = totals(data["right"], "numpy.allclose")
    return (
        f"printed decimals {_percent('printed decimals')} %",
        f"`allclose` {_percent('numpy.allclose')} %",
        f"their own tests {_percent(LIBRARY)} %",
        f"{alarms} of {some} right ones",
    )


def near_zero() -> tuple[str, ...]:
    """Where allclose rejects a rotation in float32 that is right to a rounding of its terms."""
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


def _percent(way: str) -> str:
    rejected, asked = totals(measured("today")["wrong"], way)
    return f"{100 * rejected / asked:.0f}"


def no_hole() -> str:
    """The recorded mutants: each is killed, right by the bound, a refusal, or has its reason."""
    data = measured("mutants")
    assert not data["holes"]
    assert all(each["why"] for each in data["equivalent"])
    return f"{sum(sum(kinds.values()) for kinds in data['modules'].values()):,} mutants"
