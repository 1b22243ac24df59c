"""The findings about a deployed engine, in one line per group of layers."""

from collections import Counter
from collections.abc import Iterator, Sequence

from posenc_conformance.checks.deployed import LEVEL
from posenc_conformance.models.cost import POSITIONS, cost
from posenc_conformance.models.file import Model
from posenc_conformance.models.meaning import Group, written
from posenc_conformance.models.misreadings import MISTAKES
from posenc_conformance.report.layout import CheckEntry, Report


def lines(model: Model, report: Report) -> Iterator[str]:
    """Yield the findings for each group of layers, and the cost of each mistake."""
    for group in model.meaning.groups:
        of_group = [
            check
            for check in report["checks"]
            if check["level"] == LEVEL and check["combination"] == group.id
        ]
        if of_group:
            yield from _of_group(model, group, of_group)
            yield ""


def _of_group(model: Model, group: Group, checks: Sequence[CheckEntry]) -> Iterator[str]:
    layers = f"layer{'s' * (len(group.layers) > 1)} {written(group.layers)}"
    if not group.layers:
        layers = "before the first layer"
    title = f"{group.call} {group.combination}" if group.call else "not turned"
    passed = [check for check in checks if check["verdict"] == "passed"]
    points = [point for check in passed for point in check["curve"]]
    failed = [check for check in checks if check["verdict"] == "failed"]
    if points:
        error, farthest = max(point[1] for point in points), max(point[0] for point in points)
        finding = _right(group, error, f"{int(farthest):,}")
    else:
        finding = "nothing that was asked is right" if failed else "nothing was found out"
    if points and failed:
        finding += f" where it is right; {len(failed)} of {len(passed + failed)} checks failed"
    yield f"{layers}: {title}, {finding}"
    if failed:
        names = Counter((id, words) for check in failed for id, words in check["explanations"][:1])
        for (id, words), count in names.most_common():
            yield f"  {words} [{id}], {count} of {len(failed)} failures"
            yield from _costs(model, group, id)


def _right(group: Group, error: float, farthest: str) -> str:
    """Describe the accuracy of a group, in the unit of its call, and the distance reached."""
    if group.call == "learned":
        return f"right rows up to position {farthest}"
    if group.call == "t5_bucket":
        return f"right buckets up to distance {farthest}"
    unit = "rad" if group.call != "alibi_bias" else "of a score"
    return f"right to {error:.1g} {unit} up to distance {farthest}"


def _costs(model: Model, group: Group, id: str) -> Iterator[str]:
    """Yield the cost of a mistake, if it is one in reading the configuration."""
    for mistake in MISTAKES:
        made = mistake.made(group, model.meaning, model.configuration)
        if mistake.id == id and made is not None:
            lost = [
                f"{-100 * loss:+.1f}% at {position:,}"
                for position in POSITIONS
                if (loss := cost(group, made, position).loss) is not None
            ]
            if lost:
                yield f"  its cost, for the score of a query with a matching key: {', '.join(lost)}"
