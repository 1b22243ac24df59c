"""Measurements of the benchmarks, from kept files: one function per placeholder."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from posenc_lab import results
from posenc_lab.field import said
from posenc_lab.scheme_families import FAMILIES

from blocks.scheme_blocks import schemes
from markup import code, link, prose, table
from posenc_conformance.checks import LEVELS

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
    """Tabulate the wrong miniatures of each scheme: rejected, named, and detected by each level."""
    data = read_results("matrix")
    rows = []
    for family in FAMILIES:
        for scheme in schemes().values():
            if scheme.family == family and scheme.id in data["schemes"]:
                name = f'<a href="../schemes/{scheme.id}/#deviations">{code(scheme.id)}</a>'
                rows.append([name, *_counts(data["schemes"][scheme.id])])
    rows.append(["<strong>all</strong>", *_counts(data["all"])])
    return table(["scheme", *COUNTED.values(), *LEVELS], rows)


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


def sensitivity() -> str:
    """Tabulate the smallest changes that each call's checks detect."""
    rows = []
    for row in read_results("sensitivity")["smallest power of two detected"]:
        smallest = row["smallest"]
        cells = [_power(smallest[name]) for name in CHANGES]
        if any(cells):
            rows.append([code(row["call"]), code(row["dtype"]), *cells])
    return table(["call", "dtype", *CHANGES.values()], rows)


def _power(exponent: int | None) -> str:
    if exponent is None:
        return ""
    if exponent < 0:
        return "none up to 1"
    return f"2<sup>−{exponent}</sup>" if exponent else "1"


def calibration() -> str:
    """Tabulate how close right implementations come to the bound."""
    worst: dict[tuple[str, str], dict[str, float]] = {}
    for row in read_results("calibrate")["right miniatures"]:
        worst.setdefault((row["scheme"], row["call"]), {})[row["dtype"]] = row["worst"]
    rows = [
        [code(call), *(f"{errors[dtype]:.2g}" if dtype in errors else "" for dtype in DTYPES)]
        for (_, call), errors in worst.items()
    ]
    return table(["call", *DTYPES], rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "measured:benches": benches,
    "measured:calibration": calibration,
    "measured:classes": classes,
    "measured:matrix": matrix,
    "measured:practices": practices,
    "measured:sensitivity": sensitivity,
}
