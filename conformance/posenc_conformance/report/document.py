"""The report: everything that a run found, as plain data under a published schema."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

from posenc_conformance import __version__
from posenc_conformance.door import named
from posenc_conformance.errors import UserError
from posenc_conformance.files import Writer, existing_folder, shown, try_folder
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.report.layout import CheckEntry, Counts, DiagnosisEntry, Report, RowEntry
from posenc_conformance.report.result import Result
from posenc_conformance.scheme_file.scheme import Scheme

FORMAT = 1
ID = "{id}"
"""Stands for the id of a check in the command that repeats it."""
VERDICTS = tuple(str(verdict) for verdict in Verdict if verdict is not Verdict.NOT_CLAIMED)


def title(name: str, versions: Mapping[str, str]) -> str:
    """Return the name of an implementation with its versions."""
    listed = ", ".join(f"{package} {number}" for package, number in versions.items())
    return f"{name} ({listed})" if listed else name


@dataclass(frozen=True)
class Frame:
    """The part of a report without results: implementation, schemes, models and all checks.

    It is plain data, which can pass between processes.
    """

    name: str
    versions: Mapping[str, str]
    schemes: Sequence[str]
    models: Sequence[str]
    everything: Mapping[str, Sequence[str]]
    """Ids of all checks of each scheme and model."""
    claimed: Mapping[str, Sequence[str]]
    """Ids of the checks that the implementation's claims call for."""
    missing: Mapping[str, Sequence[str]]
    """Calls and combinations of each scheme that no claim covers."""
    notes: Sequence[str] = ()
    """What is said of claims that were made for a library, one line each."""

    def of_schemes(self, chosen: Collection[str]) -> "Frame":
        """Return the frame of some of the schemes, and of all models."""
        return replace(self, schemes=[scheme for scheme in self.schemes if scheme in chosen])

    def ids(self, by_file: Mapping[str, Sequence[str]]) -> list[str]:
        """List the check ids of this frame's schemes and models."""
        return [id for name in (*self.schemes, *self.models) for id in by_file.get(name, ())]


def build(
    frame: Frame,
    results: Sequence[Result],
    *,
    interrupted: str = "",
    alone: Sequence[str] = (),
) -> Report:
    """Build the report of a run; ``report.schema.json`` describes it.

    ``interrupted`` says what ended the run early, if anything; ``alone`` are the words of the
    command that repeats one check.
    """
    uncovered = {check.id: check.message for check in results if check.verdict == "not_claimed"}
    everything, planned = frame.ids(frame.everything), frame.ids(frame.claimed)
    claimed = set(planned)
    not_claimed = [id for id in everything if id not in claimed or id in uncovered]
    not_selected = len(claimed) - len(results)
    order = {id: number for number, id in enumerate(planned)}  # regardless of the run's order
    results = sorted(
        (result for result in results if result.id not in uncovered),
        key=lambda result: (order.get(result.id, len(order)), result.id),
    )
    report = {
        "posenc-report": FORMAT,
        "kit": __version__,
        "implementation": {"name": frame.name, "versions": dict(frame.versions)},
        **({"notes": [*frame.notes]} if frame.notes else {}),
        **({"interrupted": interrupted} if interrupted else {}),
        **({"alone": [*alone]} if alone else {}),
        "schemes": [*frame.schemes],
        **({"models": [*frame.models]} if frame.models else {}),
        "summary": {
            "checks": len(everything),
            **_counts(results),
            "not_selected": not_selected,
            "not_claimed": len(not_claimed),
        },
        "rows": _rows(results),
        "diagnoses": _diagnoses(results),
        "checks": [_finite(result.sent) for result in results],
        "not_claimed": not_claimed,
        "not_asked": {id: uncovered[id] for id in not_claimed if id in uncovered},
        "combinations_not_claimed": {
            scheme: [*missing] for scheme in frame.schemes if (missing := frame.missing.get(scheme))
        },
        **({"models_not_claimed": _unasked(frame.models, results)} if frame.models else {}),
    }
    return cast(Report, report)


def _unasked(models: Sequence[str], results: Sequence[Result]) -> list[str]:
    """List the models without results: no claim names them, or every check was declined."""
    judged = {result.place.scheme for result in results}
    return [model for model in models if model not in judged]


def not_claimed_of(scheme: Scheme, subjects: Sequence[Subject]) -> list[str]:
    """List the calls and combinations of a scheme that no claim covers."""
    claimed = {(s.call.name, s.combination.name) for s in subjects if s.scheme is scheme}
    several = len(scheme.calls) > 1
    return [
        f"{call.name} {name}" if several else name
        for call in scheme.calls.values()
        for name in call.combinations
        if (call.name, name) not in claimed
    ]


def is_report(path: Path) -> bool:
    """Return whether a file is a report, or empty."""
    with path.open("rb") as stream:
        start = stream.read(READ)
    return BEGINNING.match(start) is not None or (len(start) < READ and not start.strip())


READ = 64
"""The number of leading bytes that tell a report from other files."""
BEGINNING = re.compile(rb'\s*{\s*"posenc-report"\s*:')
WRITER = Writer(
    is_report,
    "is not a report, and would be overwritten",
    hint="give another name, or move the file away",
    streams=True,
    option="--posenc-report=",
)


def place(name: str, writer: Writer = WRITER) -> Path:
    """Return the path of the report or page that the writer's option names.

    A missing folder is made when it is written. Raises UserError for a folder that cannot be
    written to, and for an existing file that is not such a one: it would be lost.
    """
    path = Path(name)
    hint = "give the name of a file in a folder that may be written into"
    where = f"{writer.option}{name}"
    with named(where, hint, "cannot be written"):
        if not name:
            raise UserError(f"{shown(where)} cannot be written", hint)
        if path.is_fifo():
            raise UserError(f"{shown(where)} is not a regular file", hint)
        writer.demand([path])
        if not path.exists() or path.is_file():
            try_folder(existing_folder(path.parent))
    return path.absolute()  # an implementation may change the working directory


def remove_old(name: str, writer: Writer = WRITER) -> None:
    """Remove the report or page of an earlier run, which a run that fails to start has not made.

    Leaves any other file as it is.
    """
    with suppress(UserError):  # an error in writing is reported later
        writer.remove([Path(name)])


def write(report: Mapping[str, object], path: Path) -> str:
    """Write a report atomically; return the problem as text, empty if there is none."""
    return put(json.dumps(report, indent=1, allow_nan=False) + "\n", path, WRITER)


def put(text: str, path: Path, writer: Writer) -> str:
    """Write a report or page; return the problem as text, empty if there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # an implementation may have removed it
        writer.write({path: text})
    except (OSError, UserError) as error:
        reason = error.cause if isinstance(error, UserError) else error
        return (
            f"posenc: the report could not be written: {reason}\n"
            f"hint: make room or name another folder by {writer.option.rstrip('=')}, and run "
            "it again"
        )
    return ""


def _rows(results: Sequence[Result]) -> list[RowEntry]:
    """Make one row per scheme, call, combination and dtype.

    The dtype is null for checks about all dtypes.
    """
    grouped: dict[tuple[str, str, str, str | None], list[Result]] = {}
    for result in results:
        place = result.place
        key = (place.scheme, place.call, place.combination, place.dtype)
        grouped.setdefault(key, []).append(result)
    rows: list[RowEntry] = []
    for (scheme, call, combination, dtype), group in grouped.items():
        worst = [check.outcome.worst for check in group if check.outcome.worst is not None]
        sweeps = (check.outcome for check in group if check.outcome.horizon is not None)
        sweep = next(sweeps, None)
        row: RowEntry = {
            "scheme": scheme,
            "call": call,
            "combination": combination,
            "dtype": dtype,
            **_counts(group),
            "worst": max(worst, default=None),
            "exact_angles": sweep.exact_angles if sweep else None,
            "horizon": sweep.horizon if sweep else None,
            "horizon_is_claim": sweep.horizon_is_claim if sweep else None,
        }
        rows.append(_finite(row))
    return rows


def _diagnoses(results: Sequence[Result]) -> list[DiagnosisEntry]:
    """Rank the deviations that explain failures, for each call and combination that failed."""
    grouped: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        if result.verdict in ("failed", "known"):
            place = result.place
            key = (place.scheme, place.call, place.combination)
            grouped.setdefault(key, []).append(result)
    return [
        {
            "scheme": scheme,
            "call": call,
            "combination": combination,
            "failed": len(group),
            "explained_by": [
                {"deviation": deviation, "explanation": words, "failures": count}
                for deviation, words, count in _explained(group)
            ],
            "recovered": _of_repeats(group)
            or _most_said([check.outcome.recovered for check in group]),
        }
        for (scheme, call, combination), group in grouped.items()
    ]


def _of_repeats(group: Sequence[Result]) -> str:
    """Return what is said of a repeated call whose result changed; empty if none did.

    Where results depend on earlier calls, what is read from single ones is about those calls.
    """
    repeats = (each for each in group if "::behaviour::second-call[" in each.id)
    return next((each.message.partition("\n")[0] for each in repeats), "")


def _most_said(words: Sequence[str]) -> str:
    """Return the words that most failures share; of several, the first."""
    said = [each for each in words if each]
    return max(said, key=said.count, default="")


def _explained(results: Sequence[Result]) -> list[tuple[str, str, int]]:
    return explained([result.outcome.explanations for result in results])


def explained(failures: Sequence[Sequence[Sequence[str]]]) -> list[tuple[str, str, int]]:
    """Rank deviations: the one that explains most failures first, then most of the rest.

    Takes the explanations of each failure. Returns id, words and the number of failures explained.
    """
    ranking = []
    remaining = [{pair[0]: pair[1] for pair in failure} for failure in failures if failure]
    while remaining:
        ids = [id for failure in remaining for id in failure]
        best = max(dict.fromkeys(ids), key=ids.count)
        words = next(failure[best] for failure in remaining if best in failure)
        ranking.append((best, words, ids.count(best)))
        remaining = [failure for failure in remaining if best not in failure]
    return ranking


def _counts(results: Sequence[Result]) -> Counts:
    verdicts = [result.verdict for result in results]
    return cast(Counts, {verdict: verdicts.count(verdict) for verdict in VERDICTS})


Entry = TypeVar("Entry", RowEntry, CheckEntry)


def _finite(found: Entry) -> Entry:
    """Replace an infinite worst error by a text, since JSON has no infinity.

    An error is infinite where none is allowed.
    """
    worst = found["worst"]
    if isinstance(worst, float) and not worst < float("inf"):
        return {**found, "worst": "infinite"}
    return found
