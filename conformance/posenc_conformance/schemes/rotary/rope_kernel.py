"""Rotary embedding in the call forms of kernels: bounds, invariants and deviations.

Each call turns rows, each at its own position. The arguments are split into rows of shape [..., n,
head_dim], and the turned rows are joined in the form of the result.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import predict_case, rounded_angles
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    POLAR,
    Pair,
    channels,
    progression,
)
from posenc_conformance.families.rotary_tables import (
    mixed_layouts,
    per_channel,
    turned_by_channel,
)
from posenc_conformance.families.turned_rows import TurnedRows
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Integers = npt.NDArray[np.int64]
LENGTHS = (6, 7, 17, 33, 65)
"""Numbers of rows to draw from. No block size divides them, except for the first. ``sizes`` yields
single rows."""
ROUNDINGS = 16
"""The number of roundings by which a result, rotated twice, may differ from the model of its
mistake."""
GAP = 16
"""Distance between the positions at which drawn sequences start."""


def rows_of(case: Case) -> Floats:
    """Return all rows of a call, including those of values: [..., n, head_dim]."""
    inputs = case.arguments
    if "qkv" in inputs:
        return apart(case, inputs["qkv"])
    if "q" in inputs:
        return np.concatenate([inputs["q"], inputs["k"]])
    return np.asarray(inputs["x"])


def apart(case: Case, result: Floats) -> Floats:
    """Split an array in the form of the result into rows, like :func:`rows_of`."""
    if "qkv" not in case.arguments:
        return result
    rows, width = result.shape
    by_head = result.reshape(rows, sum(counts(case)), width // sum(counts(case)))
    return np.asarray(by_head.swapaxes(0, 1)[places_of_heads(case)])


def joined(case: Case, rows: Floats) -> Floats:
    """Join rows into the form of the result: the inverse of :func:`apart`."""
    if "qkv" not in case.arguments:
        return rows
    out = np.empty_like(rows)
    out[places_of_heads(case)] = rows
    return np.asarray(out.swapaxes(0, 1).reshape(case.shape))


def places_of_heads(case: Case) -> Integers:
    """Return the index in a qkv row of each query head, then of each key head and value head."""
    heads, key_heads, _ = counts(case)
    if case.conventions.get("packing") != "by-group":
        return np.arange(heads + 2 * key_heads)
    group, number = heads // key_heads, np.arange(key_heads)
    queries = np.arange(heads) // group * (group + 2) + np.arange(heads) % group
    keys = number * (group + 2) + group
    return np.concatenate([queries, keys, keys + 1])


def counts(case: Case) -> tuple[int, int, int]:
    """Return the numbers of heads of queries, keys and values."""
    inputs = case.arguments
    if "q" in inputs:
        return len(inputs["q"]), len(inputs["k"]), 0
    return inputs["heads"], inputs["key_heads"], inputs["key_heads"]


def positions(case: Case) -> Integers:
    """Return the positions of rows, in a shape that broadcasts to that of rows less channels."""
    args = case.arguments
    if case.call.name == "rope_batched":
        return np.asarray(args["positions"][:, None, :])
    if case.call.name == "rope_offsets":
        return np.asarray((args["offsets"][:, None] + np.arange(args["x"].shape[2]))[:, None, :])
    if case.call.name == "rope_packed":
        edges = args["cu_seqlens"]
        return in_sequences(edges, args["offsets"], np.diff(edges))
    return np.asarray(args["positions"])


def in_sequences(edges: Integers, offsets: Integers, lengths: Integers) -> Integers:
    """Compute the positions of packed rows, ``lengths[i]`` of them in sequence i.

    They count up from ``offsets[i]``, the position of row ``edges[i]``.
    """
    return np.asarray(np.arange(lengths.sum()) + np.repeat(offsets - edges[:-1], lengths))


def at_one(case: Case, place: int) -> Case:
    """Return the case of a call that takes positions, with all rows at ``place``."""
    name = "rope_batched" if case.call.name == "rope_offsets" else "rope_in_place"
    call, x = case.scheme.calls[name], case.arguments["x"]
    where = np.full((len(x), x.shape[2]) if x.ndim == 4 else x.shape[1], place)
    inputs = {"x": x, "positions": where, "base": case.arguments["base"]}
    return case.with_fields(call=call, arguments=inputs)


def parts(case: Case, result: Floats) -> Iterator[tuple[str, Case, Floats]]:
    """Yield queries, keys and values, each head as a separate sequence."""
    rows, results, turns = rows_of(case), apart(case, result), turning(case)
    where = np.broadcast_to(positions(case), turns.shape) * turns
    ends = np.cumsum([0, *counts(case)])
    for name, start, stop in zip(("queries", "keys", "values"), ends, ends[1:], strict=False):
        if stop > start:
            x, own = rows[start:stop, None], where[start:stop]
            inputs = {"x": x, "positions": own, "base": case.arguments["base"]}
            own_case = case.with_fields(
                call=case.scheme.calls["rope_batched"],
                arguments=inputs,
                conventions={"layout": case.conventions["layout"]},
            )
            yield name, own_case, results[start:stop, None]


def turning(case: Case) -> npt.NDArray[np.bool_]:
    """Return which rows of :func:`rows_of` are turned; those of values are not."""
    rows = rows_of(case)
    if "qkv" not in case.arguments:
        return np.ones(rows.shape[:-1], bool)
    heads, key_heads, _ = counts(case)
    return np.broadcast_to((np.arange(len(rows)) < heads + key_heads)[:, None], rows.shape[:-1])


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments.get("base", 10000.0), rows_of(case).shape[-1])


def turned(case: Case, rows: Floats, where: Any) -> Floats:
    """Turn rows at the positions ``where``, which broadcast to them."""
    return by_angles(case, rows, np.asarray(where)[..., None] * frequencies(case))


def by_angles(case: Case, rows: Floats, angles: Floats, short: str = "float64") -> Floats:
    """Turn rows by an angle for each pair, with cosines and sines rounded to ``short``."""
    cos, sin = (round_to(wave(angles), short) for wave in (np.cos, np.sin))
    first, second = channels(rows.shape[-1], str(case.conventions["layout"]))
    out = np.empty(rows.shape)
    out[..., first] = rows[..., first] * cos - rows[..., second] * sin
    out[..., second] = rows[..., first] * sin + rows[..., second] * cos
    return out


def at(case: Case, where: Any) -> Floats:
    """Compute the result of a call with its rows at the positions ``where``."""
    return with_values(case, turned(case, rows_of(case), where))


def with_values(case: Case, rows: Floats) -> Floats:
    """Join turned rows into the form of the result, those of values as they are given."""
    return joined(case, np.where(turning(case)[..., None], rows, rows_of(case)))


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, the length of the turned pair or 0 for values, and the angle."""
    omega, angles = frequencies(case), np.zeros_like(rows_of(case))
    lost = np.abs(positions(case))[..., None] * omega * (1 + np.abs(np.log(omega)))
    for channel in channels(angles.shape[-1], str(case.conventions["layout"])):
        angles[..., channel] = lost
    return terms_of(case, angles)


def terms_of(case: Case, lost: Floats) -> ErrorTerms:
    """Return the error terms of a result whose channels have the errors ``lost`` of angles."""
    rows = rows_of(case)
    first, second = channels(rows.shape[-1], str(case.conventions["layout"]))
    length = np.hypot(rows[..., first], rows[..., second]) * turning(case)[..., None]
    scale = np.zeros(rows.shape)
    for channel in (first, second):
        scale[..., channel] = length
    angles = np.broadcast_to(lost + POLAR / case.scheme.accuracy.angle, rows.shape)
    return ErrorTerms(joined(case, scale), joined(case, angles))


# Arguments.


def given(
    call: str,
    starts: Integers,
    *,
    heads: int = 2,
    key_heads: int = 1,
    n: int = 6,
    head_dim: int = 8,
) -> ArgumentDict:
    """Return arguments of a call: sequences of at most ``n`` rows, from positions ``starts`` on."""
    many = (len(starts), heads, n, head_dim)
    if call == "rope_batched":
        return {"x": fine(many), "positions": starts[:, None] + np.arange(n)}
    if call == "rope_offsets":
        return {"x": fine(many), "offsets": starts}
    if call == "rope_packed":
        lengths = np.maximum(n - 2 * np.arange(len(starts)), 0)
        edges = np.concatenate([[0], np.cumsum(lengths)])
        x = fine((heads, int(edges[-1]), head_dim))
        return {"x": x, "cu_seqlens": edges, "offsets": starts}
    where = starts[0] + np.arange(n)
    if call == "rope_query_key":
        q, k = fine((heads, n, head_dim)), fine((key_heads, n, head_dim), 5)
        return {"q": q, "k": k, "positions": where}
    if call == "rope_qkv":
        qkv = fine((n, (heads + 2 * key_heads) * head_dim))
        return {"qkv": qkv, "positions": where, "heads": heads, "key_heads": key_heads}
    return {"x": fine((heads, n, head_dim)), "positions": where}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few sequences of a few rows, each at its own positions."""
    call = trial.subject.call
    n = trial.pick.one_of(LENGTHS)
    batch = trial.choose("batch", (2, 1, 3)) if "batch" in call.parameters else 2
    gap = max(0, min(GAP, (trial.scope.max_position - n) // batch))
    # Any sequence may be the farthest, not only the first.
    apart = np.roll(np.arange(batch)[::-1], trial.pick.integer(0, batch - 1))
    starts = trial.position(n + batch * gap) + gap * apart
    if call.name == "rope_packed" and not trial.pick.integer(0, 1):
        starts = 0 * starts
    heads, key_heads = trial.pick.one_of(_head_counts(trial))
    size = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    chosen = given(call.name, starts, heads=heads, key_heads=key_heads, n=n, head_dim=size)
    return chosen | {"base": trial.choose("base", (10000.0, 500000.0, 1e6, 100.0))}


def _head_counts(trial: Trial) -> list[tuple[int, int]]:
    """List claimed numbers of heads, each with a number of key heads that divides it."""
    claimed = trial.scope.parameters
    many, few = claimed.get("heads", (2, 1, 3, 4)), claimed.get("key_heads", (1, 2))
    return [(heads, keys) for heads in many for keys in few if heads % keys == 0] or [(2, 1)]


def sweep(call: str) -> Callable[[Arguments, int], ArgumentDict]:
    """Make a sweep that reaches all powers of two up to the largest position."""

    def arguments(parameters: Arguments, largest: int) -> ArgumentDict:
        where = positions_up_to(largest)
        sizes = {
            name: parameters.get(name, usual)
            for name, usual in (("heads", 1), ("key_heads", 1), ("head_dim", 128))
        }
        base = {"base": parameters.get("base", 10000.0)}
        if call == "rope_offsets":
            return given(call, where, n=1, **sizes) | base
        if call == "rope_packed":
            x = fine((sizes["heads"], len(where), sizes["head_dim"]))
            return {"x": x, "cu_seqlens": np.arange(len(where) + 1), "offsets": where} | base
        chosen = given(call, where[:1], n=len(where), **sizes)
        shape = chosen["positions"].shape
        return chosen | {"positions": np.broadcast_to(where, shape).copy()} | base

    return arguments


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield numbers of rows that no block divides, one-row sequences, small and large heads."""
    for rows, dim in (
        *((2, dim) for dim in (2, 4, 6, 10, 16, 48, 64, 80, 96, 128, 130, 256, 512)),
        *((rows, 4) for rows in (1, 3, 31, 63, 65, 127, 129, 255, 1000, 2049)),
    ):
        yield given(case.call.name, np.array([5, 3]), n=rows, head_dim=dim)
    for heads, key_heads in ((32, 8), (7, 7), (9, 1), (130, 2)):
        yield given(case.call.name, np.array([5]), n=3, heads=heads, key_heads=key_heads)
    yield given(case.call.name, np.arange(300)[::-1] % 41, n=1, heads=1)
    if case.call.name == "rope_packed":
        # The same number of rows with other edges, and a long sequence after a short one.
        for lengths in ((2, 0, 3), (0, 2, 3), (3, 2, 0), (1, 4, 0), (3, 0, 130)):
            edges = np.concatenate([[0], np.cumsum(lengths)])
            x = fine((2, sum(lengths), 8))
            yield {"x": x, "cu_seqlens": edges, "offsets": np.array([7, 0, 40])}


# Invariants.


def alone(trial: Trial) -> None:
    """Check that each sequence of a batch is turned as if it were alone."""
    chosen = arguments(trial)
    whole = trial.answer(**chosen)
    name = "positions" if "positions" in chosen else "offsets"
    for sequence in range(len(chosen["x"])):
        own = slice(sequence, sequence + 1)
        lone = trial.answer(**(chosen | {"x": chosen["x"][own], name: chosen[name][own]}))
        trial.assert_zero(
            whole[own] - lone, f"sequence {sequence} is not what it is alone, at its own positions"
        )


def unpacked(trial: Trial) -> None:
    """Check that each packed sequence is turned as if it were alone."""
    chosen = arguments(trial)
    whole = trial.answer(**chosen)
    edges, offsets = chosen["cu_seqlens"], chosen["offsets"]
    for sequence in range(len(offsets)):
        rows = slice(int(edges[sequence]), int(edges[sequence + 1]))
        if rows.start == rows.stop:
            continue
        own = {
            "x": chosen["x"][:, rows],
            "cu_seqlens": np.array([0, rows.stop - rows.start]),
            "offsets": offsets[sequence : sequence + 1],
        }
        single = trial.answer(**(chosen | own))
        trial.assert_zero(whole[:, rows] - single, f"sequence {sequence} is not what it is alone")


def heads_alone(trial: Trial) -> None:
    """Check that each head is turned as if it were alone."""
    chosen = arguments(trial)
    whole = trial.answer(**chosen)
    heads = len(chosen["q"])
    for head, row in enumerate(rows_of(whole.case)):
        single = trial.answer(**(chosen | {"q": row[None], "k": row[None]}))
        which = f"query head {head}" if head < heads else f"key head {head - heads}"
        trial.assert_zero(whole[head : head + 1] - single[:1], f"{which} is not what it is alone")


def values_stay(trial: Trial) -> None:
    """Check that values are returned bit for bit."""
    answer = trial.answer(**arguments(trial))
    qkv = answer.case.arguments["qkv"]
    heads, key_heads, _ = counts(answer.case)
    own = np.arange(len(rows_of(answer.case)))[:, None, None] >= heads + key_heads
    values = joined(answer.case, np.broadcast_to(own, rows_of(answer.case).shape))
    wrong = (answer.values != qkv) & values
    trial.assert_none(answer, wrong, "values are changed")


def lengths_stay(trial: Trial) -> None:
    """Check that every pair keeps its length."""
    answer = trial.answer(**arguments(trial))
    x = answer.case.arguments["x"]
    first, second = channels(x.shape[-1], str(answer.case.conventions["layout"]))
    before = x[..., first] ** 2 + x[..., second] ** 2
    after = answer[..., first] * answer[..., first] + answer[..., second] * answer[..., second]
    trial.assert_zero(after - before, "a pair has another length than before")


# Models of mistakes.


def rounded_as(case: Case, model: Floats, got: Floats) -> Floats:
    """Return ``got`` where it differs from ``model`` only by rounding, else ``model``.

    The bound does not cover the rounding of rows or values that are turned by mistake.
    """
    farthest = np.max(positions(case), initial=0)
    unit = max(UNIT_ROUNDOFF[case.dtype], UNIT_ROUNDOFF["float32"] * (1 + farthest))
    return np.where(np.abs(got - model) <= ROUNDINGS * unit * np.abs(model).max(), got, model)


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows turned the other way: all of them, or those of keys."""
    where = positions(case)
    if not where.any():
        return
    yield Prediction("matches angles of the opposite sign", at(case, -where))
    if case.knowledge.parts is not None:
        heads, key_heads, _ = counts(case)
        number = np.arange(len(rows_of(case)))[:, None]
        sign = np.where((number >= heads) & (number < heads + key_heads), -1, 1)
        yield Prediction("matches keys turned the other way", at(case, sign * where))


def tables_mixed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict an angle table laid out for one layout, applied to pairs of the other.

    Either of them may be the claimed one.
    """
    rows, omega, places = rows_of(case), frequencies(case), positions(case)[..., None]
    dim = rows.shape[-1]
    for table, layout, words in mixed_layouts(case) if dim >= 4 else ():
        written = channels(dim, table)
        every = per_channel(places * omega, written)

        def terms(layout: str = layout, written: Pair = written) -> ErrorTerms:
            lost = np.abs(places) * omega * (1 + np.abs(np.log(omega)))
            return terms_of(case.with_conventions(layout=layout), per_channel(lost, written))

        output = with_values(case, turned_by_channel(rows, every, channels(dim, layout)))
        yield Prediction(words, output, terms=terms)


def low_precision_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    rows = rows_of(case)
    yield from rounded_angles(
        positions(case)[..., None].astype(np.float64),
        frequencies(case),
        lambda angles: with_values(case, by_angles(case, rows, angles)),
        lambda angles, short: with_values(case, by_angles(case, rows, angles, short)),
    )


def last_block_skipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows after the last full block left unchanged, or never written."""
    rows = rows_of(case)
    n = rows.shape[-2]
    whole = turned(case, rows, positions(case))
    for full in dict.fromkeys(n // size * size for size in (2 ** np.arange(1, 12)).tolist()):
        if full == n:
            continue
        for words, beyond in (("left as they were", rows), ("never written", 0 * rows)):
            if full or not beyond.any():  # no full block is another mistake
                blocks = np.where(np.arange(n)[:, None] < full, whole, beyond)
                output = joined(case, np.where(turning(case)[..., None], blocks, rows))
                yield Prediction(
                    f"matches full blocks of rows, those from {full} on {words}", output
                )


def first_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the positions of the first sequence for all sequences."""
    where = positions(case)
    if case.call.name == "rope_packed":
        edges, offsets = case.arguments["cu_seqlens"], case.arguments["offsets"]
        where = in_sequences(edges, 0 * offsets + offsets[:1].sum(), np.diff(edges))
        yield Prediction("matches the first sequence's offset for all", at(case, where))
    elif len(where):
        yield Prediction("matches the first sequence's positions for all", at(case, where[:1]))


def offsets_of_others(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sequences that begin where others do, or at their own row, or at a sum of offsets."""
    offsets, edges = case.arguments["offsets"], case.arguments.get("cu_seqlens")
    others = {
        "sequences with the offset of the next one": np.roll(offsets, -1),
        "sequences with the offset of the one before": np.roll(offsets, 1),
        "sequences with offsets in reverse": offsets[::-1],
        "sequences with the sum of all offsets up to their own": np.cumsum(offsets),
        "sequences with the last one's offset": np.broadcast_to(offsets[-1:], offsets.shape),
        "sequences that begin at the last position of the given offset": offsets - 1,
        "sequences with twice their offset": 2 * offsets,
    }
    if edges is not None:
        others |= {
            "sequences that begin at the number of their end in the packed rows": edges[1:],
            "sequences that begin at the number of the next one's end": np.roll(edges[1:], -1),
            "sequences that begin at their length": np.diff(edges),
            "sequences that begin at the row where they lie": edges[:-1],
            "sequences that begin at their offset and the row where they lie": offsets + edges[:-1],
        }
    for words, starts in others.items() if offsets.size else ():
        where = positions(case.with_fields(arguments={**case.arguments, "offsets": starts}))
        yield Prediction(f"matches {words}", at(case, where))


def first_only(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sequences after the first left unchanged, or never written."""
    x, where = case.arguments["x"], positions(case)
    whole = at(case, where)
    for words, others in (("left as they were", x), ("never written", 0 * x)):
        if others is x and not where[:1].any():  # turning the first sequence does not show
            continue
        output = np.concatenate([whole[:1], others[1:]])
        yield Prediction(f"matches the first sequence, the others {words}", output)
        if x.shape[2] == 1:
            yield Prediction(
                f"matches the first of sequences of one row, the others {words}", output
            )


def offsets_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all sequences starting at position 0."""
    offsets = case.arguments["offsets"]
    without = case.with_fields(arguments={**case.arguments, "offsets": 0 * offsets})
    yield Prediction("matches sequences that all start at position 0", at(case, positions(without)))


def boundaries_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that continue from one sequence to the next."""
    rows, offsets = np.arange(case.arguments["x"].shape[1]), case.arguments["offsets"]
    words = "matches rows counted on from one sequence to the next"
    yield Prediction(words + ", offsets left out" * bool(offsets.any()), at(case, rows))
    if offsets[:1].any():
        where = rows + offsets[0]
        yield Prediction("matches rows counted on, from the first offset", at(case, where))


def boundaries_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sequences that begin a row late or a row early."""
    edges, offsets = case.arguments["cu_seqlens"], case.arguments["offsets"]
    total = int(edges[-1])
    for shift, words in ((1, "a row late"), (-1, "a row early")):
        moved = np.concatenate([[0], np.clip(edges[1:-1] + shift, 0, total), [total]])
        lengths = np.diff(moved)
        if (lengths < 0).any():
            continue
        where = in_sequences(moved, offsets, lengths)
        yield Prediction(f"matches sequences that begin {words}", at(case, where))
        if shift > 0:
            row = np.arange(total)
            first = np.isin(row, edges[1:-1])
            once = np.where(first, where, positions(case))
            words = "matches first rows counted on from the sequence before, all others right"
            yield Prediction(words, at(case, once))


def head_counts_mixed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one number of heads assumed for both queries and keys, or values rotated as keys."""
    heads, key_heads, values = counts(case)
    if heads == key_heads:
        return
    rows, where = rows_of(case), positions(case)
    n = len(where)
    right = turned(case, rows, where)
    right[heads + key_heads :] = rows[heads + key_heads :]
    for part, own, taken, words in (
        (slice(heads, heads + key_heads), key_heads, heads, f"keys as of {heads} heads"),
        (slice(0, heads), heads, key_heads, f"queries as of {key_heads} heads"),
    ):
        number = np.arange(n) * own + np.arange(own)[:, None]
        mixed = where[np.minimum(number // taken, n - 1)]
        out = right.copy()
        out[part] = turned(case, rows[part], mixed)
        yield Prediction(f"matches positions of rows of {words}", joined(case, out))
    least = min(heads, key_heads)
    out = right.copy()
    out[least:heads] = rows[least:heads]
    yield Prediction(
        f"matches {least} heads of the query rotated, the others left", joined(case, out)
    )
    if values:
        every = turned(case, rows, where)
        beyond = min(2 * heads, len(rows))
        out = np.concatenate([every[:beyond], rows[beyond:]])
        words = f"matches {beyond - heads} heads behind the query's rotated, of values too"
        yield Prediction(words, rounded_as(case, joined(case, out), got))
        out = np.concatenate([every[: 2 * key_heads], rows[2 * key_heads :]])
        words = f"matches the first {2 * key_heads} heads rotated, the others left"
        yield Prediction(words, joined(case, out))


def crossed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict pairs that mix queries and keys.

    Second members of query pairs are taken from keys, first members of key pairs from queries.
    """
    heads, key_heads, _ = counts(case)
    rows = rows_of(case)
    first, second = channels(rows.shape[-1], str(case.conventions["layout"]))
    whole = turned(case, rows, positions(case))
    for words, to_key, to_query in (
        ("of the same number", np.arange(heads) % key_heads, np.arange(key_heads) % heads),
        (
            "of the same group",
            np.arange(heads) * key_heads // heads,
            np.arange(key_heads) * heads // key_heads,
        ),
    ):
        out = whole.copy()
        out[:heads, :, second] = whole[heads + to_key][..., second]
        out[heads : heads + key_heads, :, first] = whole[to_query][..., first]
        out[heads + key_heads :] = rows[heads + key_heads :]
        words = f"matches pairs of which one half is made of the other, of heads {words}"
        yield Prediction(words, joined(case, out))


def keys_left(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict only the queries rotated."""
    heads, _, _ = counts(case)
    rows = rows_of(case)
    out = np.concatenate([turned(case, rows, positions(case))[:heads], rows[heads:]])
    yield Prediction("matches queries rotated, keys left as they were", joined(case, out))


def values_turned(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all heads rotated, including those of values."""
    out = joined(case, turned(case, rows_of(case), positions(case)))
    yield Prediction("matches values rotated as well", rounded_as(case, out, got))


def strides_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows of q and k read as if they were contiguous."""
    if "packing" in case.conventions:  # q and k, packed by group, are not contiguous
        return
    qkv, where = case.arguments["qkv"], positions(case)[:, None]
    heads, key_heads, _ = counts(case)
    width = qkv.shape[1] // sum(counts(case))
    parts = [(0, heads), (heads * width, key_heads)]

    def read(flat: Floats, start: int, count: int) -> Floats:
        rows = flat[start : start + len(qkv) * count * width].reshape(len(qkv), count, width)
        return turned(case, rows, where)

    apart = qkv.copy()
    flat = qkv.copy().reshape(-1)
    for start, count in parts:
        apart[:, start : start + count * width] = read(qkv.reshape(-1), start, count).reshape(
            len(qkv), -1
        )
        flat[start : start + len(qkv) * count * width] = read(flat, start, count).reshape(-1)
    words = "rows of q and k read as if they followed each other"
    yield Prediction(f"matches {words}", rounded_as(case, apart, got))
    written = rounded_as(case, flat.reshape(qkv.shape), got)
    yield Prediction(f"matches {words}, and written so", written)


def packing_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict heads in the order of the other packing."""
    claimed = case.conventions.get("packing", "blocks")
    other = "blocks" if claimed == "by-group" else "by-group"
    words = f"matches heads packed as {other}; {claimed} was claimed"
    yield from predict_case(case.with_conventions(packing=other), words)


def copy_changed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict x unchanged, because a copy was changed."""
    yield Prediction("matches x as it was: a copy was changed", case.arguments["x"])


def overwritten(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a member of a pair read after it was overwritten."""
    x = case.arguments["x"]
    angles = positions(case)[:, None] * frequencies(case)
    first, second = channels(x.shape[-1], str(case.conventions["layout"]))
    for own, other, sign, which in ((first, second, 1, "second"), (second, first, -1, "first")):
        out = x.copy()
        out[..., own] = x[..., own] * np.cos(angles) - sign * x[..., other] * np.sin(angles)
        out[..., other] = sign * out[..., own] * np.sin(angles) + x[..., other] * np.cos(angles)
        yield Prediction(f"matches {which} members made of what was already written", out)


CALLS = (
    "rope_batched",
    "rope_offsets",
    "rope_packed",
    "rope_query_key",
    "rope_in_place",
    "rope_qkv",
)


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies of all turned rows in the claimed layout, then in the other."""
    claimed = str(case.conventions["layout"])
    rotated = turning(case)
    rows = rows_of(case)[rotated]
    result, bound = (apart(case, array)[rotated] for array in (output, case.bound))
    places = np.broadcast_to(positions(case), rotated.shape)[rotated][:, None]
    for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
        first, second = channels(rows.shape[-1], str(layout))
        yield fit_frequencies(
            case,
            (rows[:, first] + 1j * rows[:, second], result[:, first] + 1j * result[:, second]),
            places,
            frequencies(case),
            bound[:, first] + bound[:, second],
            f", in the {layout} layout" * (layout != claimed),
        )


ROWS = TurnedRows(
    rows=rows_of,
    apart=apart,
    turns=turning,
    positions=positions,
    frequencies=frequencies,
    result=lambda case, angles: with_values(case, by_angles(case, rows_of(case), angles)),
    terms=terms_of,
)
FORM: Mapping[str, DeviationModel] = {
    "layout-swapped": LAYOUT_SWAPPED,
    "last-block-skipped": last_block_skipped,
    "sign-flipped": sign_flipped,
    "tables-mixed": tables_mixed,
    "low-precision-angles": low_precision_angles,
}


def known(**special: DeviationModel) -> Mapping[str, DeviationModel]:
    """Return the mistakes of a call: those of its own form, then those of every form."""
    own = {name.replace("_", "-"): model for name, model in special.items()}
    return {**FORM, **own, **ROWS.deviations}


KNOWLEDGE = {
    "rope_batched": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_batched"),
        sizes=sizes,
        shape=lambda case: case.arguments["x"].shape,
        places=positions,
        frequencies=read_frequencies,
        batched=(),
        invariants={"sequences-alone": alone},
        deviations=known(
            first_sequence_for_all=first_for_all,
            first_sequence_only=first_only,
            unrotated=ROWS.unrotated,
        ),
    ),
    "rope_offsets": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_offsets"),
        sizes=sizes,
        shape=lambda case: case.arguments["x"].shape,
        places=positions,
        at_one=at_one,
        frequencies=read_frequencies,
        batched=(),
        invariants={"offsets-alone": alone},
        deviations=known(
            first_sequence_for_all=first_for_all,
            first_sequence_only=first_only,
            offsets_ignored=offsets_ignored,
            unrotated=ROWS.unrotated,
        ),
        readings=(offsets_of_others,),
    ),
    "rope_packed": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_packed"),
        sizes=sizes,
        shape=lambda case: case.arguments["x"].shape,
        places=positions,
        at_one=at_one,
        frequencies=read_frequencies,
        batched=(),
        invariants={"packed-alone": unpacked},
        deviations=known(
            first_sequence_for_all=first_for_all,
            offsets_ignored=offsets_ignored,
            boundaries_ignored=boundaries_ignored,
            boundaries_shifted=boundaries_shifted,
            unrotated=ROWS.unrotated,
        ),
        readings=(offsets_of_others,),
    ),
    "rope_query_key": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_query_key"),
        sizes=sizes,
        shape=lambda case: (
            len(case.arguments["q"]) + len(case.arguments["k"]),
            *case.arguments["q"].shape[1:],
        ),
        places=positions,
        frequencies=read_frequencies,
        tied=(("k", -3),),  # the number of key heads divides that of query heads
        parts=parts,
        invariants={"heads-alone": heads_alone},
        deviations=known(
            head_counts_mixed=head_counts_mixed,
            query_key_crossed=crossed,
            keys_unrotated=keys_left,
            unrotated=ROWS.unrotated,
        ),
    ),
    "rope_in_place": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_in_place"),
        sizes=sizes,
        shape=lambda case: case.arguments["x"].shape,
        places=positions,
        frequencies=read_frequencies,
        invariants={"lengths-stay": lengths_stay},
        deviations=known(copy_changed=copy_changed, pair_overwritten=overwritten),
    ),
    "rope_qkv": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep("rope_qkv"),
        sizes=sizes,
        shape=lambda case: case.arguments["qkv"].shape,
        places=positions,
        parts=parts,
        frequencies=read_frequencies,
        invariants={"values-stay": values_stay},
        deviations=known(
            head_counts_mixed=head_counts_mixed,
            keys_unrotated=keys_left,
            values_rotated=values_turned,
            strides_ignored=strides_ignored,
            packing_swapped=packing_swapped,
            unrotated=ROWS.unrotated,
        ),
    ),
}
