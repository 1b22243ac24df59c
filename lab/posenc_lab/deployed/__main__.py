"""Judge all small engines, right and wrong, and print how many were rejected and named."""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from posenc_conformance.judge.verdict import Verdict
from posenc_lab.deployed.cases import RIGHT, WRONG, Case
from posenc_lab.deployed.judging import judge


def names_of(case: Case) -> set[str] | None:
    """Return the names of the mistakes for which an engine is rejected; None if it passes."""
    failed = [result for result in judge(case).values() if result.verdict == Verdict.FAILED]
    names = {result.outcome.explanations[0][0] for result in failed if result.outcome.explanations}
    return names if failed else None


def figures() -> Iterator[str]:
    """Yield the results of the right engines, and of the wrong ones."""
    with ProcessPoolExecutor() as pool:
        results = [*pool.map(names_of, RIGHT + WRONG)]
    right, wrong = results[: len(RIGHT)], results[len(RIGHT) :]
    yield f"right engines: {len(right)}, passed: {right.count(None)}"
    named = sum(
        bool(case.name) and names == {*case.name.split()}
        for case, names in zip(WRONG, wrong, strict=True)
    )
    rejected = len(wrong) - wrong.count(None)
    share = f"{100 * named / len(wrong):.1f}%"
    yield f"wrong engines: {len(wrong)}, rejected: {rejected}, named: {named} ({share})"
    for case, names in zip(RIGHT, results, strict=False):
        if names is not None:
            yield f"rejected, and right: {_title(case)}, as {', '.join(names) or 'nothing known'}"
    for case, names in zip(WRONG, wrong, strict=True):
        if names is None or (case.name and names != {*case.name.split()}):
            outcome = "not rejected" if names is None else f"called {', '.join(names) or 'nothing'}"
            yield f"{outcome}, and {case.name or 'wrong'}: {_title(case)}"


def _title(case: Case) -> str:
    return f"{case.engine.__name__} ({case.config})"


def main() -> None:
    """Print the figures."""
    for line in figures():
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
