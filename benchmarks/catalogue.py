"""The catalogue in one table: what each scheme has, who claims it, and how exact the reference is.

    python -m benchmarks.catalogue

The worst error is in units in the last place of the scale, over the cases that the tests draw.
"""

from collections import defaultdict

import mpmath
from tests.test_reference import drawn_cases, sampled_error

from posenc_conformance import oracle
from posenc_conformance.adapters.find import blank, registered, target
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.scheme_file.read import load_all

HEAD = ("scheme", "goldens", "published", "invariants", "deviations", "combinations", "worst ulp")


def libraries() -> dict[str, list[str]]:
    """Names of the registered implementations other than the reference, by scheme."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in registered():
        if name != "reference":
            adapter = blank(target(name))
            for id in dict.fromkeys(each.scheme.id for each in subjects(adapter, load_all())):
                found[id].append(name)
    return found


def worst_errors() -> dict[str, float]:
    """Largest error of the reference by scheme."""
    worst: dict[str, float] = defaultdict(float)
    with mpmath.workdps(oracle.DIGITS):
        for subject in subjects(Reference(), load_all()):
            for case in drawn_cases(subject):
                worst[subject.scheme.id] = max(worst[subject.scheme.id], sampled_error(case))
    return worst


def main() -> None:
    """Print the table."""
    claimed, worst = libraries(), worst_errors()
    print("|", " | ".join([*HEAD, "claimed by"]), "|")
    print("|" + "---|" * (len(HEAD) + 1))
    for scheme in load_all():
        cells = [
            scheme.id,
            len(scheme.goldens),
            len(scheme.published),
            len(scheme.invariants),
            len(scheme.deviations),
            sum(len(call.combinations) for call in scheme.calls.values()),
            f"{worst[scheme.id]:.2f}",
            ", ".join(claimed[scheme.id]),
        ]
        print("|", " | ".join(map(str, cells)), "|")
    exercised = sum(bool(claimed[scheme.id]) for scheme in load_all())
    print(f"\n{exercised} of {len(load_all())} schemes are claimed by a library")


if __name__ == "__main__":
    main()
