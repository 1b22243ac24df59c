"""Summary of recorded results over seeds: means with confidence intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

STUDENT = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
}
"""97.5 % quantiles of Student's t distribution, by degrees of freedom."""
PARTS = ("alone", "within", "beyond")


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the mean over seeds, half the width of its 95 % t interval, minimum and maximum."""
    half = STUDENT[len(values) - 1] * stdev(values) / math.sqrt(len(values))
    statistics = {"mean": mean(values), "half": half, "min": min(values), "max": max(values)}
    return {name: float(f"{value:.5g}") for name, value in statistics.items()}


def summary(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return an entry per task and scheme: scores, and the accuracy lost beyond TRAINED."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        groups.setdefault((result["task"], result["scheme"]), []).append(result)
    return [_summed(*key, group) for key, group in groups.items()]


def _summed(task: str, scheme: str, group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def of(part: str, score: str) -> list[float]:
        return [result[part][score] for result in group]

    lost = [
        within - beyond
        for within, beyond in zip(of("within", "accuracy"), of("beyond", "accuracy"), strict=True)
    ]
    return {
        "task": task,
        "scheme": scheme,
        **{
            score: {part: spread(of(part, score)) for part in PARTS}
            for score in ("accuracy", "loss")
        },
        "accuracy_lost": spread(lost),
    }
