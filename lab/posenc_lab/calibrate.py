"""How far the errors of right implementations stay below the bound.

    python -m posenc_lab.calibrate [--impl NAME ...] [--scheme ID] [--write FILE]

Every right miniature is judged in each dtype that it claims, and each of its results is compared
with the truth. The table shows the largest error in units of the bound: above 1 an implementation
would be rejected, far below 1 the bound could be tighter. ``--impl`` does the same with an
installed library.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.registry import load_all
from posenc_lab.first_failure import checks, failing, without_diagnosis
from posenc_lab.miniatures import right
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.results import table, write

assert right.__path__  # importing them fills the list

Make = Callable[[], object]


@dataclass(frozen=True, eq=False)
class Watched(Subject):
    """A claim that compares each of its results with the truth."""

    errors: list[float] = field(default_factory=list)

    def run(self, case: Case) -> Array:
        """Return the result and record its error."""
        output = super().run(case)
        self.errors.append(compare(case, output).worst)
        return output


@dataclass(frozen=True)
class Worst:
    """The largest error of a claim in one dtype, in units of the bound."""

    scheme: str
    call: str
    dtype: str
    worst: float
    by: str
    passed: bool


def watched(subject: Subject, dtype: str) -> Watched:
    """Return a claim restricted to one dtype."""
    scopes = tuple(
        replace(scope, dtypes=(dtype,)) for scope in subject.scopes if dtype in scope.dtypes
    )
    return Watched(
        subject.scheme, subject.call, subject.combination, scopes, subject.method, subject.keywords
    )


def measure(
    make: Make, name: str, schemes: Sequence[KnownScheme], only: str | None = None
) -> Iterable[Worst]:
    """Yield the largest error of an adapter per claim and dtype."""
    for subject in subjects(make(), schemes):
        if only not in (None, subject.scheme.id):
            continue
        for dtype in subject.dtypes:
            claim = watched(subject, dtype)
            selected = [
                candidate
                for candidate in checks([claim], [claim.scheme])
                if candidate.level != "robust"
            ]
            failures = [failure for check in selected if (failure := failing(check))]
            worst = max(claim.errors, default=0.0)
            place = (claim.scheme.id, claim.call.name, dtype)
            yield Worst(*place, worst, name, passed=not failures)


def _library(name: str) -> object:
    return load_adapter(name).adapter


def rows(found: Iterable[Worst]) -> list[list[object]]:
    """Return a row per call, with a column per dtype."""
    worst = largest(found)
    names = dict.fromkeys((scheme, call) for scheme, call, _ in sorted(worst))
    return [[*name, *(_render(worst.get((*name, dtype))) for dtype in dtypes())] for name in names]


def largest(found: Iterable[Worst]) -> dict[tuple[str, str, str], Worst]:
    """Return the largest error of each scheme, call and dtype."""
    best: dict[tuple[str, str, str], Worst] = {}
    for result in found:
        key = (result.scheme, result.call, result.dtype)
        if key not in best or result.worst > best[key].worst:
            best[key] = result
    return best


def dtypes() -> tuple[str, ...]:
    """Return all dtypes, exact ones last."""
    return tuple(UNIT_ROUNDOFF)


def _render(worst: Worst | None) -> str:
    if worst is None:
        return "-"
    return f"{worst.worst:.2g}" if worst.passed else f"**{worst.worst:.2g}**"


def to_rows(found: Iterable[Worst]) -> list[dict[str, Any]]:
    """Return the largest errors as rows of a record."""
    return [
        {
            "scheme": result.scheme,
            "call": result.call,
            "dtype": result.dtype,
            "worst": float(f"{result.worst:.3g}"),
            "by": result.by,
            "passed": result.passed,
        }
        for _, result in sorted(largest(found).items())
    ]


def render(name: str, found: Iterable[Worst]) -> str:
    """Return a heading and a table."""
    title = f"Largest error of {name}, in units of the bound (bold where a check fails):"
    return f"{title}\n\n{table(['scheme', 'call', *dtypes()], rows(found))}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impl", action="append", default=[], help="an installed library as well")
    parser.add_argument("--scheme", help="only this scheme")
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    schemes, libraries = load_all(), {}
    with np.errstate(all="ignore"), without_diagnosis():
        errors = [
            worst
            for make in RIGHT
            for worst in measure(make, make.__name__, schemes, options.scheme)
        ]
        print(render("right miniatures", errors))
        for name in options.impl:
            library = list(measure(partial(_library, name), name, schemes, options.scheme))
            print(render(name, library))
            libraries[name] = {"versions": load_adapter(name).versions, "worst": to_rows(library)}
    write(options.write, {"right miniatures": to_rows(errors), "libraries": libraries})


if __name__ == "__main__":
    main()
