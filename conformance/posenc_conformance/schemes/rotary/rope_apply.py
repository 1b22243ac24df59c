"""Rotation by given tables of cosines and sines: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.families.linearity import linear_in
from posenc_conformance.families.rotary import channels
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 6
LONGER = 5
"""The number of cache rows beyond those that the call selects."""
Tables = tuple[Floats, Floats]


def tables(case: Case) -> Tables:
    """Return cosine and sine of each row and pair: [n, pairs]."""
    inputs = case.arguments
    if "cis" in inputs:
        return inputs["cis"][..., 0], inputs["cis"][..., 1]
    if "cache" in inputs:
        return halves(inputs["cache"][inputs["rows"]])
    if case.conventions["table"] == "half-width":
        return inputs["cos"], inputs["sin"]
    first = channels(inputs["cos"].shape[1], str(case.conventions["layout"]))[0]
    return inputs["cos"][:, first], inputs["sin"][:, first]


def halves(rows: Floats) -> Tables:
    """Split rows into left and right halves."""
    half = rows.shape[1] // 2
    return rows[:, :half], rows[:, half:]


def other(layout: str) -> str:
    """Return the other layout."""
    return "half" if layout == "interleaved" else "interleaved"


def spread(pairs: Floats, layout: str) -> Floats:
    """Expand a number per pair to a number per channel of a layout."""
    out = np.empty((*pairs.shape[:-1], 2 * pairs.shape[-1]))
    for members in channels(out.shape[-1], layout):
        out[..., members] = pairs
    return out


def turned(case: Case, cos: Floats, sin: Floats, layout: str = "") -> Floats:
    """Rotate x by tables with a number for each channel."""
    x, out = case.arguments["x"], case.arguments["x"].copy()
    first, second = channels(cos.shape[1], layout or str(case.conventions["layout"]))
    out[..., first] = x[..., first] * cos[:, first] - x[..., second] * sin[:, first]
    out[..., second] = x[..., first] * sin[:, second] + x[..., second] * cos[:, second]
    return np.asarray(out)


def by_pairs(case: Case, cos: Floats, sin: Floats, layout: str = "") -> Floats:
    """Rotate x by tables with a number for each pair."""
    layout = layout or str(case.conventions["layout"])
    return turned(case, spread(cos, layout), spread(sin, layout), layout)


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, the sum of the magnitudes of the products, and no angle."""
    cos, sin = (np.abs(table) for table in tables(case))
    x = np.abs(case.arguments["x"])
    first, second = channels(2 * cos.shape[1], str(case.conventions["layout"]))
    scale = np.zeros(case.shape)
    scale[..., first] = x[..., first] * cos + x[..., second] * sin
    scale[..., second] = x[..., first] * sin + x[..., second] * cos
    return ErrorTerms(scale, np.zeros(()))


# Arguments.


def given_tables(call: str, conventions: Arguments, cos: Floats, sin: Floats) -> Any:
    """Return tables in the form that ``call`` takes."""
    if call == "rope_apply_pairs":
        return {"cis": np.stack([cos, sin], axis=-1)}
    if call == "rope_apply_cache":
        rows = np.arange(len(cos))[::-1] + LONGER - 1
        cache = fine((len(cos) + LONGER, 2 * cos.shape[1]), 7).copy()
        cache[rows] = np.concatenate([cos, sin], axis=1)
        return {"rows": rows, "cache": cache}
    if conventions["table"] == "doubled":
        layout = str(conventions["layout"])
        return {"cos": spread(cos, layout), "sin": spread(sin, layout)}
    return {"cos": cos, "sin": sin}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads of a few rows, and tables that are not cosines and sines."""
    return with_tables(trial, fine, 5)


def with_tables(trial: Trial, make: Callable[..., Floats], start: int) -> ArgumentDict:
    """Draw arguments with tables of values from ``make``."""
    call = trial.subject.call
    head_dim = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    n = trial.choose("n", (ROWS,)) if "n" in call.parameters else ROWS
    pairs, chosen = head_dim // 2, {}
    if head_dim > 2 and "partial" in trial.can("rotation") and trial.pick.one_of((False, True)):
        chosen, pairs = {"rotation": "partial"}, head_dim // 2 - 1
    cos, sin = make((n, pairs), start), make((n, pairs), start + 3)
    formed = given_tables(call.name, trial.subject.combination.conventions, cos, sin)
    return {"x": fine((2, n, head_dim)), **formed, **chosen}


def no_sweep(parameters: Arguments, largest: int) -> None:
    """Return None: tables have no positions."""


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield small and large heads, powers of two and not, one row and many."""
    for rows, dim in (
        *((2, dim) for dim in (2, 4, 6, 10, 16, 48, 64, 80, 96, 128, 130, 256, 512)),
        (1, 8),
        (257, 4),
        (2049, 4),
    ):
        cos, sin = fine((rows, dim // 2), 5), fine((rows, dim // 2), 8)
        formed = given_tables(case.call.name, case.conventions, cos, sin)
        yield {"x": fine((2, rows, dim)), **formed}


# Invariants.


def longer_pairs(trial: Trial) -> None:
    """Check that the length of a pair is multiplied by that of the vector (cos, sin)."""
    answer = trial.answer(**arguments(trial))
    cos, sin = tables(answer.case)
    layout = str(answer.case.conventions["layout"])
    first, second = channels(2 * cos.shape[1], layout)
    x = answer.case.arguments["x"]
    before = x[..., first] ** 2 + x[..., second] ** 2
    after = answer[..., first] * answer[..., first] + answer[..., second] * answer[..., second]
    trial.assert_zero(
        after - before * (cos**2 + sin**2), "a pair has another length than tables say"
    )


def constant(cos: float, sin: float) -> Callable[[Trial], ArgumentDict]:
    """Make a function that draws arguments with a constant cosine and sine."""

    def drawn(trial: Trial) -> ArgumentDict:
        values = iter((cos, sin))
        return with_tables(trial, lambda shape, _: np.full(shape, next(values)), 0)

    return drawn


def identity(trial: Trial) -> None:
    """Check that cosines of 1 and sines of 0 change nothing."""
    answer = trial.answer(**constant(1.0, 0.0)(trial))
    wrong = answer.values != answer.case.arguments["x"]
    trial.assert_none(answer, wrong, "cosines of 1 and sines of 0 change something")


def quarter_turn(trial: Trial) -> None:
    """Check that cosines of 0 and sines of 1 make quarter turns."""
    answer = trial.answer(**constant(0.0, 1.0)(trial))
    cos, sin = tables(answer.case)
    wrong = answer.values != by_pairs(answer.case, cos, sin)
    trial.assert_none(
        answer, wrong, "cosines of 0 and sines of 1 do not make (-x₂, x₁) of (x₁, x₂)"
    )


def rows_apart(trial: Trial) -> None:
    """Check that changing a row of the tables changes only the same row of the result."""
    chosen = arguments(trial)
    before = trial.answer(**chosen)
    row = trial.pick.integer(0, before.values.shape[-2] - 1)
    moved = {name: chosen[name].copy() for name in ("cos", "sin")}
    for table in moved.values():
        table[row] = table[row] / 2 + 0.25
    after = trial.answer(**(chosen | moved))
    elsewhere = np.arange(before.values.shape[-2]) != row
    wrong = (after.values != before.values)[..., elsewhere, :]
    trial.assert_none(after, wrong, f"row {row} of the tables changes other rows of the result")


def cache_order(trial: Trial) -> None:
    """Check that reversing the cache, with rows counted from its end, changes nothing."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    cache, rows = chosen["cache"], chosen["rows"]
    turned_over = {"cache": cache[::-1].copy(), "rows": len(cache) - 1 - rows}
    again = trial.answer(**(chosen | turned_over))
    trial.assert_zero(
        again - answer, "a cache in another order, with rows renumbered, gives another result"
    )


# Models of mistakes.


def mixed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tables laid out for one layout, applied to pairs of the other."""
    layout = str(case.conventions["layout"])
    cos, sin = tables(case)
    if cos.shape[1] < 2:
        return
    how = {"half": "tiled in halves", "interleaved": "repeated for neighbours"}
    for numbers, pairs in ((other(layout), layout), (layout, other(layout))):
        output = turned(case, spread(cos, numbers), spread(sin, numbers), pairs)
        yield Prediction(f"matches tables {how[numbers]}, with pairs of the {pairs} layout", output)
    if case.conventions["table"] == "doubled":
        first = channels(2 * cos.shape[1], other(layout))[0]
        inputs = case.arguments
        output = by_pairs(case, inputs["cos"][:, first], inputs["sin"][:, first])
        words = f"matches doubled tables read as those of the {other(layout)} layout"
        yield Prediction(words + ", for an odd number of pairs" * (cos.shape[1] % 2), output)


def layout_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict pairs of the other layout."""
    claimed = str(case.conventions["layout"])
    value = other(claimed)
    output = by_pairs(case, *tables(case), value)
    yield Prediction(f"matches the {value} layout exactly; {claimed} was claimed", output)


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict pairs turned the other way."""
    cos, sin = tables(case)
    yield Prediction("matches sines of the opposite sign", by_pairs(case, cos, -sin))


def exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines exchanged."""
    cos, sin = tables(case)
    yield Prediction(
        "matches sines taken for cosines, and cosines for sines", by_pairs(case, sin, cos)
    )


def other_rows(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict table rows taken in order, off by one, or the first row for all."""
    count = case.shape[-2]
    cos, sin = tables(case)
    selected = np.arange(count)
    if "cache" in case.arguments:
        cos, sin = halves(case.arguments["cache"])
        selected = case.arguments["rows"]
        if count <= len(cos):
            yield Prediction(
                "matches rows of the cache in order, not those asked for",
                by_pairs(case, cos[:count], sin[:count]),
            )
    for shift in (1, -1):
        taken = np.clip(selected + shift, 0, len(cos) - 1)
        yield Prediction(
            f"matches rows of the tables shifted by {shift:+d}",
            by_pairs(case, cos[taken], sin[taken]),
        )
    if count:
        taken = np.full(count, selected[0])
        yield Prediction("matches the first row for all", by_pairs(case, cos[taken], sin[taken]))


def narrow_tables(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tables in half precision."""
    cos, sin = tables(case)
    for dtype in ("bfloat16", "float16"):
        output = by_pairs(case, round_to(cos, dtype), round_to(sin, dtype))
        yield Prediction(f"matches tables rounded to {dtype}", output)


def unrotated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict no rotation at all."""
    yield Prediction("matches x without any rotation", case.arguments["x"])


CALLS = ("rope_apply", "rope_apply_pairs", "rope_apply_cache")
SHARED: Mapping[str, DeviationModel] = {
    "layout-swapped": layout_swapped,
    "tables-mixed": mixed,
    "sine-sign-flipped": sign_flipped,
    "sin-cos-exchanged": exchanged,
    "wrong-row": other_rows,
    "tables-narrowed": narrow_tables,
    "unrotated": unrotated,
}


def by_one_row(case: Case, place: int) -> Case | None:
    """Return the case with table row ``place`` for all rows; None if the table has no such row."""
    inputs = case.arguments
    last = len(inputs["cos" if "cos" in inputs else "cache"]) - 1
    if not 0 <= place <= last:
        return None
    if "rows" in inputs:
        return case.with_arguments(rows=np.full_like(inputs["rows"], place))
    rows = np.full(last + 1, place)
    return case.with_arguments(cos=inputs["cos"][rows], sin=inputs["sin"][rows])


def read_by_turns(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict cosines and sines read by turns from rows of a cache that has them in halves."""
    rows = case.arguments["cache"][case.arguments["rows"]]
    for layout in ("half", "interleaved"):
        words = f"matches cosines and sines read by turns from a row of the cache, {layout} pairs"
        yield Prediction(words, by_pairs(case, rows[:, ::2], rows[:, 1::2], layout))


KNOWLEDGE = {
    "rope_apply": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "lengths": longer_pairs,
            "identity": identity,
            "quarter-turn": quarter_turn,
            "linear-in-x": linear_in("x", arguments),
            "rows-apart": rows_apart,
        },
        deviations=dict(SHARED),
        places=lambda case: np.arange(len(case.arguments["cos"])),
        at_one=by_one_row,
    ),
    "rope_apply_pairs": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={"pairs-lengths": longer_pairs, "pairs-quarter-turn": quarter_turn},
        deviations=dict(SHARED),
    ),
    "rope_apply_cache": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={"cache-quarter-turn": quarter_turn, "cache-order": cache_order},
        deviations=dict(SHARED),
        readings=(read_by_turns,),
        places=lambda case: case.arguments["rows"],
        at_one=by_one_row,
    ),
}
