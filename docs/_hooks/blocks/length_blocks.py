"""Tables of the measurements of ``posenc_lab.length``, from ``docs/data/length.json``."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from posenc_lab import results

from markup import code, table

Entry = Mapping[str, Any]

LEARNED = 0.9
"""Least mean accuracy at trained positions for a scheme to count as having learned the task."""

PAGES = {"t5-bias-50": "t5-bias", "t5-bias-128": "t5-bias"}


@lru_cache(maxsize=1)
def read_results() -> dict[str, Any]:
    """Read the results of the experiment from ``docs/data/length.json``."""
    return results.read_record(results.path_of("length"))


def schemes(task: str) -> dict[str, Entry]:
    """Return the summary of all seeds for each scheme of a task, in the order of the experiment."""
    return {entry["scheme"]: entry for entry in read_results()["summary"] if entry["task"] == task}


def seeds(task: str, scheme: str) -> list[Entry]:
    """Return the results of all seeds of a scheme in a task."""
    entries = [
        entry
        for entry in read_results()["results"]
        if (entry["task"], entry["scheme"]) == (task, scheme)
    ]
    assert entries, f"docs/data/length.json has nothing of {scheme} in {task}"
    return entries


def learned(task: str, scheme: str) -> bool:
    """Return whether the models of a scheme learned the task at the trained length."""
    trained = seeds(task, scheme)[0]["trained"]
    return bool(schemes(task)[trained]["accuracy"]["within"]["mean"] >= LEARNED)


def percent(value: float) -> str:
    """Write a share in percent, with one decimal and a typographic minus sign."""
    shown = f"{100 * value:.1f}"
    return "0.0" if shown == "-0.0" else shown.replace("-", "−")


def interval(spread: Mapping[str, float]) -> str:
    """Write the mean and half of the 95 % interval, in percent."""
    return f"{percent(spread['mean'])} ± {percent(spread['half'])}"


def accuracies(task: str) -> str:
    """Tabulate the accuracies of a task, best beyond the trained length first, unlearned last."""
    entries = sorted(
        schemes(task).values(),
        key=lambda row: (learned(task, row["scheme"]), row["accuracy"]["beyond"]["mean"]),
        reverse=True,
    )
    return table(
        ["scheme", "alone at 100", "1 to 100", "101 to 200", "least and largest", "lost"],
        [_row(task, entry) for entry in entries],
    )


def _row(task: str, entry: Entry) -> Sequence[str]:
    name = entry["scheme"]
    shown = f'<a href="../../schemes/{PAGES.get(name, name)}/">{code(name)}</a>'
    trained = seeds(task, name)[0]["trained"]
    if trained != name:
        shown = f"{shown} on {code(trained)}"
    if not learned(task, name):
        shown += " (not learned)"
    accuracy = entry["accuracy"]
    parts = [interval(accuracy[part]) for part in ("alone", "within", "beyond")]
    ends = " to ".join(percent(accuracy["beyond"][end]) for end in ("min", "max"))
    numbers = [*parts, ends, interval(entry["accuracy_lost"])]
    return [shown, *(number.replace(" ", "&nbsp;") for number in numbers)]


def losses(task: str) -> str:
    """Tabulate the cross-entropies of a task in nats, in the order of the experiment."""
    rows = [
        [code(name), *(_nats(entry["loss"][part]) for part in ("alone", "within", "beyond"))]
        for name, entry in schemes(task).items()
    ]
    return table(["scheme", "alone at 100", "1 to 100", "101 to 200"], rows)


def _nats(spread: Mapping[str, float]) -> str:
    return f"{spread['mean']:.3f} ± {spread['half']:.3f}"


def accuracy(task: str, scheme: str, part: str) -> str:
    """Return the accuracy of a scheme in a part of a task, formatted for a sentence."""
    return f"{interval(schemes(task)[scheme]['accuracy'][part])} %"


def _setting(*names: str) -> Callable[[], str]:
    """Make a fact: a recorded setting of the experiment."""

    def setting() -> str:
        value: Any = read_results()["settings"]
        for name in names:
            value = value[name]
        return f"{value:g}"

    return setting


def _seeds() -> str:
    *others, last = map(str, read_results()["seeds"])
    return f"{', '.join(others)} and {last}"


def _free_minutes() -> float:
    """Compute the minutes that the run would take with one core for each process."""
    run = read_results()["run"]
    return float(run["cpu_seconds"] / run["processes"] / 60)


FACTS: dict[str, Callable[[], int | str]] = {
    **{
        f"{task}-{scheme}-{part}": partial(accuracy, task, scheme, part)
        for task in ("recall", "back")
        for scheme in schemes(task)
        for part in ("alone", "within", "beyond")
    },
    "length-symbols": _setting("symbols"),
    "length-layers": _setting("layers"),
    "length-width": _setting("width"),
    "length-heads": _setting("heads"),
    "length-steps-recall": _setting("steps", "recall"),
    "length-steps-back": _setting("steps", "back"),
    "length-batch": _setting("batch"),
    "length-learning-rate": _setting("learning_rate"),
    "length-warmup": _setting("warmup"),
    "length-clipped-norm": _setting("clipped_norm"),
    "length-tested-sequences": _setting("tested_sequences"),
    "length-seeds": _seeds,
    "length-processes": lambda: int(read_results()["run"]["processes"]),
    "length-minutes": lambda: round(read_results()["run"]["seconds"] / 60),
    "length-cpu-minutes": lambda: round(read_results()["run"]["cpu_seconds"] / 60),
    "length-free-minutes": lambda: round(_free_minutes()),
}

BLOCKS: dict[str, Callable[[], str]] = {
    f"length:{kind}-{task}": partial(show, task)
    for kind, show in (("accuracy", accuracies), ("loss", losses))
    for task in ("recall", "back")
}
