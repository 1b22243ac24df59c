"""Measurements of the benchmarks, from kept files: one function per placeholder."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from posenc_lab import results
from posenc_lab.field import said

from markup import code, link, paragraph, prose, table
from posenc_conformance.checks import LEVELS
from posenc_conformance.scheme_file.scheme import Scheme

DTYPES = ("float64", "float32", "bfloat16", "float16", "integer", "boolean")
CHANGES = {
    "base": "base",
    "first": "fastest pair or first slope",
    "middle": "middle one",
    "last": "slowest pair or last slope",
    "scale": "all values",
    "offset": "all positions",
}
KIT = "the kit"


@lru_cache
def read_results(name: str) -> dict[str, Any]:
    """Read a file of results."""
    return results.read_record(results.path_of(name))


def matrix() -> str:
    """Tabulate the wrong miniatures of all schemes: rejected, named, detected by each level."""
    return table([*COUNTED.values(), *LEVELS], [_counts(read_results("matrix")["all"])])


def power(scheme: Scheme) -> str:
    """Tabulate what was measured of one scheme; empty if nothing was."""
    counts = read_results("matrix")["schemes"].get(scheme.id)
    if counts is None:
        return ""
    return (
        paragraph("Wrong miniatures, and how many of them a level of checks detects:")
        + table([*COUNTED.values(), *LEVELS], [_counts(counts)])
        + _titled("The smallest relative changes that some check detects:", sensitivity(scheme))
        + _titled(
            "The largest errors of right miniatures, in units of the bound:", calibration(scheme)
        )
    )


def _titled(words: str, shown: str) -> str:
    return paragraph(words) + shown if shown else ""


def classes() -> str:
    """Tabulate the wrong miniatures like ``matrix``, by class of mistake."""
    counts = read_results("matrix")["classes"]
    rows = [[prose(name), *_counts(count)] for name, count in counts.items()]
    return table(["class", *COUNTED.values(), *LEVELS], rows)


COUNTED = {
    "wrong": "wrong",
    "rejected": "rejected",
    "nameable": "with a name",
    "named_first": "named first",
    "named_anyway": "named anyway",
}


def _counts(group: Mapping[str, Any]) -> list[str]:
    numbers = [group[name] for name in COUNTED]
    numbers += [group["seen_by"].get(level, 0) for level in LEVELS]
    return [str(number or "") for number in numbers]


BENCHES = {
    "people": "modules in PyTorch",
    "kernels": "kernels as they are called",
    "reports": "code after reports",
}


def benches() -> str:
    """Tabulate the kit's verdicts on third-party code, by bench."""
    figures = [said.figures(list(read_bench(name).values())) for name in BENCHES]
    rows = [[words, *(column[words] for column in figures)] for words in figures[0]]
    return table(["", *BENCHES.values()], rows)


@lru_cache
def read_bench(name: str) -> dict[str, said.Row]:
    """Read the kept results of a bench, by the name of each implementation."""
    return said.read(said.kept(name))


def practices() -> str:
    """Tabulate what other ways of checking find among the kit's miniatures."""
    data = read_results("today")
    ways = {KIT: {"what": "every check that the claim calls for", "source": ""}} | data["ways"]
    rows = [
        [
            link(way["source"], prose(name)) if way["source"].startswith("http") else prose(name),
            prose(way["what"]),
            *(_share(data[side], name) for side in ("wrong", "right")),
        ]
        for name, way in ways.items()
    ]
    return table(["way", "what it asserts", "wrong ones rejected", "right ones rejected"], rows)


def _share(some: Mapping[str, Any], way: str) -> str:
    rejected, tried = totals(some, way)
    return f"{rejected:,} of {tried:,} ({100 * rejected / tried:.0f} %)" if tried else "not asked"


def totals(some: Mapping[str, Any], way: str) -> tuple[int, int]:
    """Count the miniatures that a way of checking rejects, and those that it can judge."""
    counts = [count[way] for count in some.values() if way in count]
    return sum(count["rejected"] for count in counts), sum(count["asked"] for count in counts)


def sensitivity(scheme: Scheme) -> str:
    """Tabulate the smallest changes that the checks of a scheme's calls detect."""
    rows = []
    for row in read_results("sensitivity")["smallest power of two detected"]:
        cells = [_power(row["smallest"][name]) for name in CHANGES]
        if row["call"] in scheme.calls and any(cells):
            rows.append([code(row["call"]), code(row["dtype"]), *cells])
    return table(["call", "dtype", *CHANGES.values()], rows) if rows else ""


def _power(exponent: int | None) -> str:
    if exponent is None:
        return ""
    if exponent < 0:
        return "none up to 1"
    return f"2<sup>−{exponent}</sup>" if exponent else "1"


def calibration(scheme: Scheme) -> str:
    """Tabulate how close right implementations of a scheme come to the bound."""
    worst: dict[str, dict[str, float]] = {}
    for row in read_results("calibrate")["right miniatures"]:
        if row["scheme"] == scheme.id:
            worst.setdefault(row["call"], {})[row["dtype"]] = row["worst"]
    rows = [
        [code(call), *(f"{errors[dtype]:.2g}" if dtype in errors else "" for dtype in DTYPES)]
        for call, errors in worst.items()
    ]
    return table(["call", *DTYPES], rows) if rows else ""


BLOCKS: dict[str, Callable[[], str]] = {
    "measured:benches": benches,
    "measured:classes": classes,
    "measured:matrix": matrix,
    "measured:practices": practices,
}
