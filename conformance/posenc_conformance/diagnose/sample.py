"""A sample of the rows of a large result: trying a model of a mistake costs as much as the call."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.scheme_file.axis_names import form_of, forms_of

ROW_BY_ROW = ("encode", "rotary", "in-place", "sum")
"""Kinds of calls where a row of the result depends only on its own row and position."""
LARGEST_JOINED = 2**15
"""About the largest sample, in values, of all heads of queries and keys."""
LAST_QUERIES = 2
"""Number of queries that are enough to refute another call."""
NEIGHBOURS = 256
"""Number of rows whose positions are read."""
Answer = tuple[Case, Floats]
"""A call and its result."""


def neighbours(case: Case, output: Floats, index: tuple[int, ...]) -> Answer:
    """Take consecutive rows of one leading index: the first if any is wrong, or near ``index``."""
    rows = right_rows(output, case.truth, case.bound).reshape(-1, output.shape[-2])
    right = np.asarray(rows.all(axis=0))
    first = max(0, index[-2] - NEIGHBOURS // 2) if right[:NEIGHBOURS].all() else 0
    chosen = np.arange(first, min(first + NEIGHBOURS, len(right)))
    return _taken(case, output, _heads(output.shape[:-2], index[:-2])[:1], chosen)


def sample(case: Case, output: Floats, index: tuple[int, ...], rows: int, heads: int = 2) -> Answer:
    """Take a few rows of a call and its result, including the row of ``index``.

    The row of the largest position is included, as a call may depend on it. The rows come from
    ``heads`` leading indices. A call that is small, or cannot be split, is returned unchanged.
    """
    if not can_be_taken_apart(case):
        return case, output
    chosen = _rows(case, index[-2], rows)
    places = _heads(output.shape[:-2], index[:-2])[:heads]
    if len(chosen) * len(places) >= output[..., 0].size:
        return case, output
    return _taken(case, output, places, chosen)


def can_be_taken_apart(case: Case) -> bool:
    """Return whether each row, at each leading index, can be computed by a call of its own."""
    of_rows = [form for form in forms_of(case.call).values() if form.has_rows]
    alike = all(form.leading and len(form.axes) == 2 for form in of_rows)
    of_rotary = case.scheme.family == "rotary" and case.call.kind == "gradient"
    whole = alike and (case.call.kind in ROW_BY_ROW or (of_rotary and "x" in case.arguments))
    return (whole or bool(joined_arguments(case))) and "positions" in case.arguments


def joined_arguments(case: Case) -> list[str]:
    """Return the arguments whose heads, one after the other, are those of the result.

    Empty if there are not several, as of queries and keys.
    """
    forms = forms_of(case.call)
    names = [name for name, form in forms.items() if form.has_rows]
    if len(names) < 2 or any(forms[n].leading or forms[n].axes[1:-1] != ("n",) for n in names):
        return []
    heads = sum(len(case.arguments[name]) for name in names)
    return names if len(case.shape) == 3 and case.shape[0] == heads else []


def _taken(case: Case, output: Floats, places: Ints, chosen: Ints) -> Answer:
    """Take some rows at some leading indices of a call and its result."""
    arguments = dict(case.arguments)
    if joined := joined_arguments(case):
        return _taken_of_each(case, output, joined, places, chosen)
    for name, form in forms_of(case.call).items():
        if form.has_rows:
            arguments[name] = _few(arguments[name], places, chosen)
        elif "n" in form.axes:
            arguments[name] = np.take(arguments[name], chosen, axis=form.axes.index("n"))
    few = replace(case, arguments=arguments, printed=None, truth_shared_with=None)
    return few, _few(output, places, chosen)


def _taken_of_each(
    case: Case, output: Floats, joined: Sequence[str], places: Ints, chosen: Ints
) -> Answer:
    """Take some rows of one head of each argument; of all heads if several places are asked."""
    arguments, kept, before = dict(case.arguments), [], 0
    if len(places) > 1:
        chosen = chosen[: max(2, LARGEST_JOINED // output[:, 0].size)]
    for name in joined:
        count = len(arguments[name])
        own = [int(place) - before for place in places if 0 <= place - before < count] or [0]
        heads = np.arange(count) if len(places) > 1 else np.array(own[:1])
        arguments[name] = arguments[name][heads][:, chosen]
        kept.append(before + heads)
        before += count
    arguments["positions"] = arguments["positions"][chosen]
    few = replace(case, arguments=arguments, printed=None, truth_shared_with=None)
    return few, output[np.concatenate(kept)][:, chosen]


def _few(values: Floats, heads: Ints, rows: Ints) -> Floats:
    """Take some rows at some leading indices, merged into one axis; in a matrix, take the rows."""
    if values.ndim == 2:
        return values[rows]
    return values.reshape(-1, *values.shape[-2:])[heads][:, rows]


def _rows(case: Case, worst: int, count: int) -> Ints:
    """Choose rows: the first ones, the worst, that of the largest position, and others."""
    positions = case.arguments["positions"]
    total = positions.shape[-1]
    largest = int(np.argmax(np.abs(positions).max(axis=tuple(range(positions.ndim - 1)))))
    first = np.arange(min(count // 2, total))
    spread = np.linspace(0, total - 1, min(max(count // 2 - 2, 1), total)).astype(np.int64)
    return np.unique([worst, largest, *first, *spread])


def _heads(shape: tuple[int, ...], worst: tuple[int, ...]) -> Ints:
    """Choose two leading indices: the worst, and the first or the last."""
    total = int(np.prod(shape))
    at = int(np.ravel_multi_index(worst, shape)) if shape else 0
    return np.array([at, 0 if at else total - 1])[: min(2, total)]


def whole_rows(case: Case, output: Floats, index: tuple[int, ...], largest: int) -> Answer | None:
    """Take all rows of all leading indices, or of one: None if they are more than ``largest``.

    A mistake may depend on how many rows, or sequences, there are.
    """
    if output.size <= largest:
        return case, output
    if not can_be_taken_apart(case) or output[..., 0].size == output.shape[-2]:
        return None
    if output[(0,) * (output.ndim - 2)].size > largest:
        return None
    return at_leading_index(case, output, index[:-2], np.arange(output.shape[-2]))


def at_leading_index(case: Case, output: Floats, index: tuple[int, ...], rows: Ints) -> Answer:
    """Take rows, which may be repeated, of one leading index."""
    return _taken(case, output, _heads(output.shape[:-2], index)[:1], rows)


def last_queries(case: Case, output: Floats) -> Answer | None:
    """Take the last queries of the first head, with all keys: None if the call cannot be cut so.

    That is so where queries are the last of the keys, which the truth of both calls tells.
    """
    forms, shape = forms_of(case.call), form_of(case.call.returns)
    if shape is None or shape.axes != ("heads", "q_len", "k_len") or output.shape != case.shape:
        return None
    arguments = dict(case.arguments)
    for name, form in forms.items():
        if form.axes[:1] == ("heads",):
            arguments[name] = arguments[name][:1]
        if "q_len" in form.axes:
            at = form.axes.index("q_len")
            count = arguments[name].shape[at]
            last = np.arange(max(count - LAST_QUERIES, 0), count)
            arguments[name] = np.take(arguments[name], last, axis=at)
    few = replace(case, arguments=arguments, printed=None, truth_shared_with=None)
    part = output[:1, -LAST_QUERIES:]
    if not few.has_result or part.size == output.size:
        return None
    right = case.truth[:1, -LAST_QUERIES:]
    return (few, part) if np.array_equal(few.truth, right, equal_nan=True) else None


def is_at_any(
    case: Case, output: Floats, index: Sequence[int], places: Sequence[int]
) -> bool | None:
    """Return whether a wrong row is at any of these places; None if one call cannot tell.

    Of queries and keys a head of each is taken, and one of them may be right.
    """
    once, got = at_leading_index(case, output, (*index[:-1],), np.full(len(places), index[-1]))
    moved = once.with_arguments(positions=np.array(places))
    if not moved.has_result or not _are_apart(once, moved):  # as for a table without one of them
        return None
    wrong = ~right_rows(got, once.truth, once.bound)
    return bool((wrong & right_rows(got, moved.truth, np.maximum(once.bound, moved.bound))).any())


def _are_apart(once: Case, moved: Case) -> bool:
    """Return whether rows do not depend on the places of others, as where the largest counts."""
    places = moved.arguments["positions"]
    order = np.argsort(places)
    for number in order[len(order) // 4 :: max(len(order) // 4, 1)].tolist():
        alone = once.with_arguments(positions=np.full_like(places, places[number]))
        if not alone.has_result or not np.array_equal(
            alone.truth[..., number, :], moved.truth[..., number, :]
        ):
            return False
    return True


def _of_another(first: int) -> Callable[[Ints], Ints]:
    """Give every second head, from the first one on, positions of the other sequence of a batch.

    It has those of :func:`adapters.in_batch`, which takes heads from its sequences in turn.
    """

    def rule(asked: Ints) -> Ints:
        found = asked.copy()
        heads = found.reshape(-1, asked.shape[-1])
        if len(heads) > 1:  # of a single one, that would be any reversal
            heads[first::2] = asked.max(initial=0) - heads[first::2]
        return found

    return rule


OF_BATCHES = {
    f"in a batch, one sequence has the positions of another one (heads {heads} here)": (
        _of_another(first)
    )
    for first, heads in enumerate(("0, 2, …", "1, 3, …"))
}
"""Rules of sequences that are not given their own positions, in words, and their effect."""
