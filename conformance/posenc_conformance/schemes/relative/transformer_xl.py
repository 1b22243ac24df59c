"""Relative attention of Transformer-XL: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case, rounded_waves
from posenc_conformance.families.lengths import Integers
from posenc_conformance.families.scores import alike, content_alone, products, sizes, toeplitz
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.call_kinds import Shape
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LARGEST_SWEEP = 2300
TABLES = (5000, 512, 1024, 2048, 4096, 8192, 10000)
"""Numbers of positions for which Conformers make a table, ESPnet's first."""
SCORES = (
    (1, 1, 1, 1, 2),
    (3, 1, 7, 5, 6),
    (12, 3, 4, 2, 10),
    (1, 2, 300, 1, 2),
    (1, 33, 33, 2, 4),
    (1, 130, 130, 2, 2),
    (1, 1, 2, 64, 32),
)
"""No memory and some, many keys, heads and channels; powers of two and others."""


def columns_for(distances: str, q_len: int, k_len: int) -> int:
    """Count the columns needed for the distances of all keys."""
    return k_len + {"past": 0, "full": q_len - 1, "padded": q_len}[distances]


def shift_shape(case: Case) -> Shape:
    """Return the shape of a shift's result, with a column for each key."""
    x = case.arguments["x"]
    more = columns_for(str(case.conventions["distances"]), x.shape[-2], 0)
    return *x.shape[:-1], x.shape[-1] - more


def shift_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few queries, and as many keys or a few more."""
    held = str(trial.subject.combination.conventions["distances"])
    q_len = trial.choose("q_len", (3, 2, 5, 8, 17))
    k_len = q_len + trial.pick.integer(0, 4)
    columns = trial.choose("columns", (columns_for(held, q_len, k_len),))
    return {"x": fine((2, q_len, columns))}


def shift_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys."""
    return {"x": fine((1, parameters.get("q_len", 2), parameters.get("columns", 2300)))}


def shift_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield sizes with no memory, some and much, powers of two and others."""
    held = str(case.conventions["distances"])
    for q_len, k_len in ((1, 1), (1, 2), (2, 2), (2, 9), (4, 4), (7, 64), (33, 40), (300, 300)):
        yield {"x": fine((2, q_len, columns_for(held, q_len, k_len)))}


def distance_between(q_len: int, k_len: int, first: int | None = None) -> Integers:
    """Compute query position minus key position, with the first query at position ``first``.

    By default, the queries are the last of the keys.
    """
    late = k_len - q_len if first is None else first
    return late + np.arange(q_len)[:, None] - np.arange(k_len)


def shift_distance(case: Case) -> Integers:
    """Compute the distance of each key of a shift's result."""
    q_len, k_len = case.shape[-2:]
    return distance_between(q_len, k_len)


def first_distance(case: Case) -> int:
    """Return the distance of the first column of a shift's argument."""
    return case.shape[-1] - (case.conventions["distances"] != "padded")


def columns_name_distances(trial: Trial) -> None:
    """Check that columns filled with their own distance give each key its distance."""
    chosen = shift_arguments(trial)["x"]
    case = trial.case(x=chosen)
    held = first_distance(case) - np.arange(chosen.shape[-1], dtype=np.float64)
    y = trial.answer(x=np.broadcast_to(held, chosen.shape).copy())
    trial.assert_zero(y - shift_distance(case), "a key does not have the score of its distance")


def rows_apart(trial: Trial) -> None:
    """Check that the scores of one query do not affect other queries."""
    x = shift_arguments(trial)["x"]
    before = trial.answer(x=x)
    row = trial.pick.integer(0, x.shape[-2] - 1)
    changed = x.copy()
    changed[..., row, :] = 0.75
    after = trial.answer(x=changed)
    others = np.arange(x.shape[-2])[:, None] != row
    trial.assert_zero(
        (after - before).where(others), f"the scores of query {row} reach other queries"
    )


def last_row(trial: Trial) -> None:
    """Check that the scores of the last query stay in their columns.

    The last of these columns is the query's own.
    """
    y = trial.answer(**shift_arguments(trial))
    start, k_len = int(y.case.conventions["distances"] == "padded"), y.case.shape[-1]
    own = y.given("x")[..., -1, start : start + k_len]
    trial.assert_zero(y[..., -1, :] - own, "the last row is moved")


def taken(case: Case, column: Integers) -> Floats:
    """Take the argument's scores at these columns, which wrap around at the edges."""
    x = case.arguments["x"]
    places = np.broadcast_to(column % x.shape[-1], case.shape)
    return np.asarray(np.take_along_axis(x, places, -1))


def shift_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns that are not shifted."""
    for start in {0, int(case.conventions["distances"] == "padded")}:
        column = start + np.arange(case.shape[-1])
        yield Prediction("matches scores that were not moved", taken(case, column))


def shift_the_other_way(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows moved to the right.

    A column of zeros is appended and the last row is cut off, or each row wraps around.
    """
    x = case.arguments["x"]
    q_len, columns = x.shape[-2:]
    padded = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
    moved = padded.reshape(*x.shape[:-2], columns + 1, q_len)[..., :-1, :].reshape(x.shape)
    yield Prediction("matches rows moved to the right", moved[..., : case.shape[-1]])
    column = np.arange(case.shape[-1]) - np.arange(q_len)[:, None]
    yield Prediction("matches rows turned to the right", taken(case, column))


def shift_ascending(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns read as rising distances."""
    last = first_distance(case) - case.arguments["x"].shape[-1] + 1
    yield Prediction("matches columns of rising distance", taken(case, shift_distance(case) - last))


def shift_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows moved by one place too many or too few."""
    column = first_distance(case) - shift_distance(case)
    x = case.arguments["x"]
    flat = np.concatenate([x.reshape(*x.shape[:-2], -1), np.zeros((*x.shape[:-2], 1))], axis=-1)
    for more in (1, -1):
        words = "one place too far" if more == 1 else "one place too little"
        yield Prediction(f"matches rows moved {words}", taken(case, column + more))
        inside = (column + more >= 0) & (column + more < x.shape[-1])
        yield Prediction(
            f"matches rows moved {words}, zeros at the edge",
            np.where(inside, taken(case, column + more), 0.0),
        )
        place = column + more + x.shape[-1] * np.arange(x.shape[-2])[:, None]
        place = np.clip(place, -1, flat.shape[-1] - 1) % flat.shape[-1]
        yield Prediction(f"matches rows moved {words} in memory", flat[..., place])


def padded(columns: Floats) -> dict[str, Floats]:
    """Return scores after a column of zeros and a new view, without the first row or the last."""
    *leading, q_len, count = columns.shape
    wide = np.concatenate([np.zeros((*leading, q_len, 1)), columns], axis=-1)
    flat = wide.reshape(*leading, -1)
    return {
        "first": flat[..., q_len:].reshape(columns.shape),
        "last": flat[..., : q_len * count].reshape(columns.shape),
    }


def cut_elsewhere(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another row or other columns cut off after the shift in memory."""
    keys = case.shape[-1]
    for row, moved in padded(case.arguments["x"]).items():
        for which, columns in (("first", moved[..., :keys]), ("last", moved[..., -keys:])):
            words = f"matches scores padded and viewed anew without the {row} row"
            if moved.shape[-1] > keys:
                words += f", and of them the {which} {keys} columns"
            yield Prediction(words, columns)


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each channel's sinusoid, in radians per position."""
    dim = case.arguments["w_kr"].shape[1]
    omega = 10000.0 ** -(np.arange(0, dim, 2) / dim)
    concatenated = case.conventions["layout"] == "concatenated"
    return np.tile(omega, 2) if concatenated else np.repeat(omega, 2)


def cosines(case: Case) -> Floats:
    """Return 1 for channels of cosines and 0 for channels of sines."""
    dim = case.arguments["w_kr"].shape[1]
    concatenated = case.conventions["layout"] == "concatenated"
    return np.repeat([0.0, 1.0], dim // 2) if concatenated else np.tile([0.0, 1.0], dim // 2)


def true_distance(case: Case) -> Integers:
    """Compute query position minus key position, before any clamp."""
    return distance_between(case.arguments["q"].shape[1], case.arguments["k"].shape[1])


def clamped(case: Case, distance: Floats | Integers) -> Floats:
    """Clip distances to the case's ``clamp_len``, if it has one."""
    longest = case.arguments.get("clamp_len")
    cut = distance if longest is None else np.clip(distance, -longest, longest)
    return np.asarray(cut, dtype=np.float64)


def score_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale, and the angle.

    In the scale, sines and cosines count as 1. The angle is that of the sinusoids plus a quarter of
    the number of products in the sums, since the accuracy's factor of 4 is for angles.
    """
    q, k, w_kr = (case.arguments[name] for name in ("q", "k", "w_kr"))
    u, v = (np.abs(case.arguments[name])[:, None] for name in ("u", "v"))
    root = np.sqrt(q.shape[-1])
    weight = (np.abs(q) + v) @ np.swapaxes(np.abs(w_kr), 1, 2)
    scale = (products(np.abs(q) + u, np.abs(k)) + weight.sum(axis=-1, keepdims=True)) / root
    omega = frequencies(case)
    turning = np.abs(clamped(case, true_distance(case)))[..., None] * (
        omega * (1 + np.abs(np.log(omega)))
    )
    turned = np.einsum("hit,ijt->hij", weight, turning) / root
    angle = np.divide(turned, scale, out=np.zeros_like(scale), where=scale > 0)
    return ErrorTerms(scale, sum(w_kr.shape[1:]) / 4 + angle)


def arrays(heads: int, q_len: int, k_len: int, head_dim: int, dim: int) -> ArgumentDict:
    """Make arguments of these sizes."""
    return {
        "q": fine((heads, q_len, head_dim)),
        "k": fine((heads, k_len, head_dim), 5),
        "w_kr": fine((heads, dim, head_dim), 11),
        "u": fine((heads, head_dim), 17),
        "v": fine((heads, head_dim), 29),
    }


def score_arguments(trial: Trial, *, clamp: bool = True) -> ArgumentDict:
    """Draw a few heads, queries and keys; as many queries as keys, or fewer."""
    k_len = trial.choose("k_len", (5, 1, 2, 3, 8, 20))
    q_len = trial.choose("q_len", (max(1, k_len - trial.pick.integer(0, 3)),))
    chosen = arrays(
        trial.choose("heads", (2, 1, 3)),
        q_len,
        k_len,
        trial.choose("head_dim", (4, 1, 2, 3, 8, 16)),
        trial.choose("dim", (8, 2, 4, 6, 16)),
    )
    if clamp and trial.can("clamping") and trial.pick.integer(0, 1):
        chosen |= clamping(trial)
    return chosen


def clamping(trial: Trial) -> ArgumentDict:
    """Draw a claimed length at which distances are clipped."""
    return {"clamping": "clamped", "clamp_len": trial.choose("clamp_len", (2, 1, 3, 7))}


def score_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of more keys than narrow dtypes can count."""
    sizes = {"heads": 1, "q_len": 1, "k_len": min(largest, LARGEST_SWEEP) + 1}
    sizes |= {"head_dim": 4, "dim": 8}
    return arrays(**(sizes | {k: v for k, v in parameters.items() if k in sizes}))


def shared_query(trial: Trial) -> None:
    """Check that moving a vector from the biases to every query does not change the logits.

    The vector is added to all queries and subtracted from both biases.
    """
    chosen = score_arguments(trial)
    # Of few bits, so that the sums are exact in every dtype.
    few = {name: lattice(chosen[name].shape, start) for start, name in enumerate(("q", "u", "v"))}
    gained = lattice(few["u"].shape, 40)
    moved = {"q": few["q"] + gained[:, None], "u": few["u"] - gained, "v": few["v"] - gained}
    before, after = trial.answer(**(chosen | few)), trial.answer(**(chosen | moved))
    trial.assert_zero(
        after - before,
        "a vector moved from the biases u and v to every query changes the logits",
    )


def translation(trial: Trial) -> None:
    """Check that removing the first key does not change the scores of the others."""
    chosen = score_arguments(trial)
    q_len, k_len = chosen["q"].shape[1], chosen["k"].shape[1]
    if q_len == k_len:
        return
    longer = trial.answer(**chosen)
    shorter = trial.answer(**(chosen | {"k": chosen["k"][:, 1:].copy()}))
    trial.assert_zero(
        shorter - longer[..., 1:], "the first key's absence changes other keys' scores"
    )


def last_queries(trial: Trial) -> None:
    """Check that removing the first query does not change the scores of the others."""
    chosen = score_arguments(trial)
    q_len = chosen["q"].shape[1]
    if q_len == 1:
        return
    every = trial.answer(**chosen)
    fewer = trial.answer(**(chosen | {"q": chosen["q"][:, 1:].copy()}))
    trial.assert_zero(fewer - every[:, 1:], "the queries are not the last of the keys")


def recurrence(trial: Trial) -> None:
    """Check that a single pair of channels obeys s(δ+1) + s(δ-1) = 2 cos(w) s(δ)."""
    chosen = score_arguments(trial, clamp=False)
    case = trial.case(**chosen)
    omega = frequencies(case)
    index = trial.pick.integer(0, len(omega) // 2 - 1)
    pair = np.isclose(omega, np.sort(omega)[::-1][2 * index], rtol=1e-12)
    alone = {name: np.zeros_like(chosen[name]) for name in ("q", "u")}
    alone["w_kr"] = np.where(pair[:, None], chosen["w_kr"], 0.0)
    y = trial.answer(**(chosen | alone))
    turn = omega[pair][0]
    trial.assert_zero(
        y[..., 2:] + y[..., :-2] - 2 * np.cos(turn) * y[..., 1:-1],
        f"channels of frequency {turn:.6g} do not turn by that frequency from key to key",
    )


def mirrored(trial: Trial) -> None:
    """Check that reversing queries and keys reverses the logits.

    The sines' projection is negated as well.
    """
    chosen = score_arguments(trial)
    case = trial.case(**chosen)
    if chosen["q"].shape[1] != chosen["k"].shape[1]:
        return
    sign = 2 * cosines(case) - 1
    backwards = {name: chosen[name][:, ::-1].copy() for name in ("q", "k")}
    backwards["w_kr"] = chosen["w_kr"] * sign[:, None]
    y, other = trial.answer(**chosen), trial.answer(**(chosen | backwards))
    trial.assert_zero(
        y - other[:, ::-1, ::-1], "the sines of negative distances are not the negated sines"
    )


def clamp_far(trial: Trial) -> None:
    """Check that keys of the same content have the same score at distances from clamp_len on."""
    chosen = score_arguments(trial, clamp=False) | clamping(trial)
    longest = chosen["clamp_len"]
    k_len = trial.choose("k_len", (2 * longest + 3,))
    q_len = trial.choose("q_len", (min(k_len, longest + 2),))
    heads, _, head_dim = chosen["q"].shape
    chosen |= arrays(heads, q_len, k_len, head_dim, chosen["w_kr"].shape[1])
    y = trial.answer(**(chosen | alike(chosen, "k")))
    cut = clamped(y.case, true_distance(y.case))
    trial.assert_zero(
        (y[..., 1:] - y[..., :-1]).where(cut[:, 1:] == cut[:, :-1]),
        f"keys at least {longest} away have different scores",
    )


def waves(case: Case, distance: Floats, omega: Floats) -> Floats:
    """Compute the sinusoids of distances, of shape [..., dim]."""
    angle = distance[..., None] * omega
    return np.where(cosines(case) == 1, np.cos(angle), np.sin(angle))


def content(case: Case, u: Floats) -> Floats:
    """Compute the terms (a) and (c), unscaled."""
    return products(case.arguments["q"] + u[:, None], case.arguments["k"])


def position(case: Case, v: Floats, sinusoids: Floats, queries: Floats | None = None) -> Floats:
    """Compute the terms (b) and (d), unscaled.

    The sinusoids are of shape [q_len, k_len, dim].
    """
    asking = (case.arguments["q"] if queries is None else queries) + v[:, None]
    weight = asking @ np.swapaxes(case.arguments["w_kr"], 1, 2)
    return np.asarray(np.einsum("hit,ijt->hij", weight, sinusoids, optimize=True))


def root(case: Case) -> float:
    """Compute the square root of head_dim."""
    return float(np.sqrt(case.arguments["q"].shape[-1]))


def scaled(case: Case, scores: Floats) -> Floats:
    """Divide scores by the square root of head_dim."""
    return np.asarray(scores / root(case))


def with_waves(case: Case, sinusoids: Floats) -> Floats:
    """Compute the logits with other sinusoids."""
    u, v = case.arguments["u"], case.arguments["v"]
    return scaled(case, content(case, u) + position(case, v, sinusoids))


def with_distance(case: Case, distance: Floats | Integers) -> Floats:
    """Compute the logits with other distances, clipped as in the case."""
    everywhere = clamped(case, np.asarray(distance, dtype=np.float64) + np.zeros(case.shape[1:]))
    return with_waves(case, waves(case, everywhere, frequencies(case)))


def waves_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict cosines where sines belong, and sines where cosines do."""
    distance = clamped(case, np.asarray(true_distance(case), np.float64))
    angle = distance[..., None] * frequencies(case)
    exchanged = np.where(cosines(case) == 1, np.sin(angle), np.cos(angle))
    first = "cosines first" if case.conventions["layout"] == "concatenated" else "each cosine first"
    words = f"matches cosines and sines exchanged in the table of distances: {first}"
    yield Prediction(words, with_waves(case, exchanged))


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict key minus query instead of query minus key."""
    yield Prediction(
        "matches distances of the opposite sign", with_distance(case, -true_distance(case))
    )


def sine_even(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the sinusoids of earlier keys for later keys."""
    if case.conventions["direction"] == "two-sided":
        yield Prediction(
            "matches sinusoids of the magnitude of the distance",
            with_distance(case, np.abs(true_distance(case))),
        )


def listed(case: Case) -> Integers:
    """List distances in the order of the released code."""
    q_len, k_len = case.shape[1:]
    if case.conventions["direction"] == "causal":
        return np.arange(k_len - 1, -1, -1)
    padded = case.conventions["layout"] == "concatenated"
    return np.arange(k_len if padded else k_len - 1, -q_len, -1)


def unshifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every query scored with the distances of the list's first columns."""
    distances = listed(case)
    for start in (0, 1):
        columns = distances[start : start + case.shape[2]]
        if len(columns) == case.shape[2]:
            yield Prediction("matches scores that were not shifted", with_distance(case, columns))


def ascending(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances listed in rising instead of falling order."""
    distances = listed(case)
    turned = distances[0] + distances[-1] - true_distance(case)
    yield Prediction("matches a list of distances that rises", with_distance(case, turned))


def memory_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict query i at position i, although there are more keys than queries."""
    q_len, k_len = case.shape[1:]
    if q_len < k_len:
        early = distance_between(q_len, k_len, 0)
        for seen_as in (early, np.abs(early), np.maximum(early, 0)):
            yield Prediction(
                "matches queries that start at position 0", with_distance(case, seen_as)
            )


def distance_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances off by one."""
    for shift in (1, -1):
        yield Prediction(
            f"matches distances shifted by {shift:+d}",
            with_distance(case, true_distance(case) + shift),
        )


def table_from_front(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first rows of a table that falls from its largest distance."""
    k_len = case.shape[2]
    for positions in TABLES:
        largest = positions - 1
        if largest >= k_len:
            yield Prediction(
                f"matches a table that falls from {largest}, read from its first row on",
                with_distance(case, true_distance(case) + largest - (k_len - 1)),
            )


def garbage_ahead(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the causal shift without its mask, where keys after the query are visible.

    The entries of these keys belong to the next query.
    """
    q_len, k_len = case.shape[1:]
    if case.conventions["direction"] == "causal":
        return
    u, v = case.arguments["u"], case.arguments["v"]
    past = waves(case, clamped(case, np.arange(k_len - 1, -1, -1)), frequencies(case))
    columns = position(case, v, np.broadcast_to(past, (q_len, *past.shape)))
    padded = np.concatenate([np.zeros((*columns.shape[:2], 1)), columns], axis=-1)
    left = padded.reshape(len(columns), -1)[:, q_len:].reshape(columns.shape)
    yield Prediction(
        "matches the causal shift without its mask", scaled(case, content(case, u) + left)
    )


def last_row_cut(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the shift in memory that cuts off the last row, not the first."""
    u, v = case.arguments["u"], case.arguments["v"]
    listed_waves = waves(case, clamped(case, listed(case)), frequencies(case))
    every = np.broadcast_to(listed_waves, (case.shape[1], *listed_waves.shape))
    moved = padded(position(case, v, every))["last"][..., : case.shape[2]]
    words = "matches scores padded and viewed anew without the last row, not the first"
    yield Prediction(words, scaled(case, content(case, u) + moved))


def absolute_table(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the positions of keys, or their negatives, in place of distances for every query."""
    place = np.arange(case.shape[2])
    for words, distance in (("positions", place), ("negated positions", -place)):
        yield Prediction(
            f"matches the {words} of keys, the same for every query, in place of distances",
            with_distance(case, distance),
        )


def terms_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one or two of the four terms left out."""
    u, v = case.arguments["u"], case.arguments["v"]
    right = waves(case, clamped(case, true_distance(case)), frequencies(case))
    nothing = np.zeros_like(u)
    asking = np.zeros_like(case.arguments["q"])
    ac, bd = content(case, u), position(case, v, right)
    a, b = content(case, nothing), position(case, nothing, right)
    d = position(case, v, right, asking)
    for left_out, scores in {
        "u (term c)": a + bd,
        "v (term d)": ac + b,
        "u and v": a + b,
        "the position terms (b and d)": ac,
        "the query's position term (b)": ac + d,
        "the content terms (a and c)": bd,
        "the query's content term (a)": ac - a + bd,
    }.items():
        yield Prediction(f"matches logits without {left_out}", scaled(case, scores))


def biases_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict u and v exchanged, or one of them in both places."""
    u, v = case.arguments["u"], case.arguments["v"]
    yield from predict_case(case.with_arguments(u=v, v=u), "matches u and v exchanged")
    yield from predict_case(case.with_arguments(v=u), "matches u in both places")
    yield from predict_case(case.with_arguments(u=v), "matches v in both places")


def wrong_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another divisor, or one that not all terms share."""
    heads, _, head_dim = case.arguments["q"].shape
    u, v = case.arguments["u"], case.arguments["v"]
    right = waves(case, clamped(case, true_distance(case)), frequencies(case))
    ac, bd = content(case, u), position(case, v, right)
    root = np.sqrt(head_dim)
    yield Prediction("matches logits that are not scaled", ac + bd)
    yield Prediction("matches only the content scaled", ac / root + bd)
    yield Prediction("matches only the positions scaled", ac + bd / root)
    yield Prediction("matches 1 / head_dim", (ac + bd) / head_dim)
    yield Prediction("matches 1 / head_dim^(1/4)", (ac + bd) / np.sqrt(root))
    yield Prediction("matches 1 / sqrt(heads * head_dim)", (ac + bd) / np.sqrt(heads * head_dim))
    yield Prediction("matches 1 / sqrt(2 * head_dim)", (ac + bd) / np.sqrt(2 * head_dim))


def clamp_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances clipped elsewhere, on one side, or not at all."""
    longest = case.arguments.get("clamp_len")
    if longest is None:
        return
    distance, omega = true_distance(case), frequencies(case)
    for words, cut in (
        ("distances that are not cut", distance),
        (f"distances cut at {longest - 1}", np.clip(distance, 1 - longest, longest - 1)),
        (f"distances cut at {longest + 1}", np.clip(distance, -longest - 1, longest + 1)),
        ("only distances of keys behind cut", np.minimum(distance, longest)),
        ("distances started over after the longest", distance % (longest + 1)),
    ):
        sinusoids = waves(case, cut.astype(np.float64), omega)
        yield Prediction(f"matches {words}", with_waves(case, sinusoids))


def wrong_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict exponents over dim/2 - 1, or with another factor than 2.

    Also predict a separate exponent for every channel.
    """
    dim = case.arguments["w_kr"].shape[1]
    distance = clamped(case, true_distance(case))
    half = np.arange(dim // 2)
    concatenated = case.conventions["layout"] == "concatenated"
    channels = np.arange(dim)
    for words, exponent in (
        ("over dim/2 - 1", half / max(dim // 2 - 1, 1)),
        ("t / dim", half / dim),
        ("4t / dim", 4 * half / dim),
        ("of every channel by itself", channels / dim),
    ):
        if len(exponent) == dim // 2:
            exponent = np.tile(exponent, 2) if concatenated else np.repeat(exponent, 2)
        sinusoids = waves(case, distance, np.asarray(10000.0**-exponent, dtype=np.float64))
        yield Prediction(f"matches exponents {words}", with_waves(case, sinusoids))


def narrow_distances(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, frequencies or angles in a narrow dtype, and sinusoids of them."""
    distance, omega = clamped(case, true_distance(case))[..., None], frequencies(case)

    def waved(angles: Floats, dtype: str = "float64") -> Floats:
        sinusoids = np.where(cosines(case) == 1, np.cos(angles), np.sin(angles))
        return with_waves(case, round_to(sinusoids, dtype))

    for dtype in ("bfloat16", "float16"):
        near, narrow = round_to(distance, dtype), round_to(omega, dtype)
        held = [
            ("distances", near * omega),
            ("distances and frequencies", near * narrow),
            ("angles", round_to(near * narrow, dtype)),
        ]
        yield from rounded_waves(held, dtype, distance * omega, waved, waved)


KNOWLEDGE = {
    "relative_shift": CallKnowledge(
        error_terms=exact_terms,
        arguments=shift_arguments,
        sweep=shift_sweep,
        sizes=shift_sizes,
        shape=shift_shape,
        invariants={
            "columns-name-distances": columns_name_distances,
            "rows-apart": rows_apart,
            "last-row": last_row,
        },
        deviations={
            "shift-missing": shift_missing,
            "shift-the-other-way": shift_the_other_way,
            "shift-ascending": shift_ascending,
            "shift-off-by-one": shift_off_by_one,
        },
        readings=(cut_elsewhere,),
    ),
    "transformer_xl_scores": CallKnowledge(
        error_terms=score_terms,
        arguments=score_arguments,
        sweep=score_sweep,
        sizes=sizes(arrays, *SCORES),
        invariants={
            "plain": content_alone(
                score_arguments,
                root,
                "without position terms the logits are not q·k / sqrt(head_dim)",
                "w_kr",
                "u",
                "v",
            ),
            "shared-query": shared_query,
            "translation": translation,
            "last-queries": last_queries,
            "toeplitz": toeplitz(score_arguments),
            "recurrence": recurrence,
            "mirrored": mirrored,
            "clamp-far": clamp_far,
        },
        deviations={
            "layout-swapped": other_conventions(
                "layout", "matches {value} sines and cosines; {claimed} was claimed"
            ),
            "terms-missing": terms_missing,
            "biases-swapped": biases_swapped,
            "sign-flipped": sign_flipped,
            "sine-even": sine_even,
            "memory-ignored": memory_ignored,
            "unshifted": unshifted,
            "ascending": ascending,
            "distance-shifted": distance_shifted,
            "table-from-front": table_from_front,
            "garbage-ahead": garbage_ahead,
            "clamp-wrong": clamp_wrong,
            "wrong-scale": wrong_scale,
            "wrong-frequencies": wrong_frequencies,
            "narrow-distances": narrow_distances,
        },
        readings=(last_row_cut, absolute_table, waves_exchanged),
    ),
}
