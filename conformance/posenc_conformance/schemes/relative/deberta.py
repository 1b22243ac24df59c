"""Disentangled attention of DeBERTa: bounds, invariants and deviations."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.families.lengths import Integers, no_sweep, one_step, saved_lags
from posenc_conformance.families.scores import (
    content_alone,
    exchanged,
    products,
    roles_exchanged,
    toeplitz,
    token_left_out,
)
from posenc_conformance.judge.arrays import Array, Floats, fine, lattice, round_to
from posenc_conformance.judge.case import Case, ErrorTerms, exact_terms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

REACH = 210
LOOSE = ((64, 512),)
"""Sizes at which a correct implementation's logarithm may miss a whole number, unlike at the sizes
in CONFIGURATIONS."""
CONFIGURATIONS = ((256, 512), (4, 8), (8, 16), (9, 20), (32, 128), (128, 512))


def bucket_arguments(trial: Trial) -> ArgumentDict:
    """Draw sizes, with distances from -210 to 210 or beyond ``max_relative_positions``."""
    buckets, limit = trial.pick.one_of(CONFIGURATIONS)
    buckets = trial.choose("num_buckets", (buckets,))
    limit = trial.choose("max_relative_positions", (limit,))
    reach = min(max(REACH, limit + 9), trial.scope.max_position)
    return {
        "relative_position": np.arange(-reach, reach + 1),
        "num_buckets": buckets,
        "max_relative_positions": limit,
    }


def bucket_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach every distance found in models, and some far beyond."""
    near = np.arange(min(largest, 2048) + 1)
    far = 2 ** np.arange(11, 32)
    distances = np.concatenate([near, far[far <= largest]])
    both = np.concatenate([-distances[::-1], distances])
    return {
        "relative_position": both,
        "num_buckets": 256,
        "max_relative_positions": 512,
        **parameters,
    }


def bucket_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every size in CONFIGURATIONS, with distances beyond the last bucket."""
    for buckets, limit in (*CONFIGURATIONS, *LOOSE):
        relative = np.arange(-2 * limit - 9, 2 * limit + 10)
        yield {
            "relative_position": relative,
            "num_buckets": buckets,
            "max_relative_positions": limit,
        }


def bucket_terms(case: Case) -> ErrorTerms:
    """Return terms with bound 0, or one bucket at the last distance of sizes not in CONFIGURATIONS.

    Only at the last distance is the logarithm a whole number.
    """
    buckets, limit = case.arguments["num_buckets"], case.arguments["max_relative_positions"]
    if case.printed is not None or (buckets, limit) in CONFIGURATIONS:
        return exact_terms(case)
    distance = np.abs(case.arguments["relative_position"])
    if case.conventions["far"] == "clamped":
        distance = np.minimum(distance, limit - 1)
    return one_step(case, distance == limit - 1)


def odd(trial: Trial) -> None:
    """Check that opposite distances have opposite buckets."""
    y = trial.answer(**bucket_arguments(trial))
    trial.assert_zero(y + y[::-1], "opposite distances do not have opposite buckets")


def monotone(trial: Trial) -> None:
    """Check that a larger distance never has a lower bucket."""
    y = trial.answer(**bucket_arguments(trial))
    trial.assert_none(y, np.diff(y.values) < 0, "a larger distance has a lower bucket")


def near_exactly(trial: Trial) -> None:
    """Check that distances up to half the number of buckets are their own buckets."""
    y = trial.answer(**bucket_arguments(trial))
    near = np.abs(y.case.arguments["relative_position"]) <= mid_of(y.case)
    trial.assert_zero(
        y[near] - y.given("relative_position")[near], "a short distance is not its own bucket"
    )


def last_bucket(trial: Trial) -> None:
    """Check that the distance max_relative_positions - 1 has the bucket 2 mid - 1."""
    chosen = bucket_arguments(trial)
    last = chosen["max_relative_positions"] - 1
    if last > trial.scope.max_position:
        return
    y = trial.answer(**(chosen | {"relative_position": np.array([-last, last])}))
    highest = 2 * mid_of(y.case) - 1
    trial.assert_zero(
        y - np.array([-highest, highest]), f"the distance {last} is not in bucket {highest}"
    )


def far_together(trial: Trial) -> None:
    """Check that all distances from max_relative_positions - 1 on share the last bucket."""
    chosen = bucket_arguments(trial)
    last = chosen["max_relative_positions"] - 1
    reach = min(5 * last, trial.scope.max_position)
    y = trial.answer(**(chosen | {"relative_position": np.arange(last, reach + 1)}))
    trial.assert_zero(
        y - (2 * mid_of(y.case) - 1), "a very large distance is not in the last bucket"
    )


def mid_of(case: Case) -> int:
    """Return the distance up to which every distance is its own bucket."""
    return int(case.arguments["num_buckets"]) // 2


def by_logarithm(case: Case, whole: Any, *, limit: int, mid: int, log: Any = np.log) -> Floats:
    """Compute the released formula with other sizes, another rounding or another logarithm."""
    relative = case.arguments["relative_position"].astype(np.float64)
    distance = np.abs(relative)
    if case.conventions["far"] == "clamped":
        distance = np.minimum(distance, case.arguments["max_relative_positions"] - 1)
    ratio = log(np.maximum(distance, mid) / mid) / log(np.asarray(limit / mid))
    large = mid + whole(ratio * (mid - 1))
    return np.asarray(np.sign(relative) * np.where(distance <= mid, distance, large))


def sign_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict key minus query instead of query minus key."""
    yield from predict_case(
        case.with_arguments(relative_position=-case.arguments["relative_position"]),
        "matches distances of the opposite sign (key minus query)",
    )


def rounded_otherwise(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict logarithms rounded down, to the nearest, or up even from a whole number."""
    limit, mid = case.arguments["max_relative_positions"] - 1, mid_of(case)

    def just_above(steps: Floats) -> Floats:
        return np.asarray(np.ceil(steps * (1 + 1e-7)))

    for words, whole in (
        ("logarithms rounded down", np.floor),
        ("logarithms rounded to the nearest bucket", np.rint),
        ("logarithms that come out just above a whole number", just_above),
    ):
        yield Prediction(f"matches {words}", by_logarithm(case, whole, limit=limit, mid=mid))


def other_sizes(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another number of buckets or another largest position."""
    buckets, limit = case.arguments["num_buckets"], case.arguments["max_relative_positions"]
    yield Prediction(
        f"matches a logarithm that ends at {limit}, not at {limit - 1}",
        by_logarithm(case, np.ceil, limit=limit, mid=buckets // 2),
    )
    for words, changes in (
        (f"{2 * buckets} buckets", {"num_buckets": 2 * buckets}),
        (f"{buckets // 2} buckets", {"num_buckets": buckets // 2}),
        ("256 buckets", {"num_buckets": 256}),
        ("a max_relative_positions of 512", {"max_relative_positions": 512}),
        ("256 buckets up to 512", {"num_buckets": 256, "max_relative_positions": 512}),
        (f"a max_relative_positions of {2 * limit}", {"max_relative_positions": 2 * limit}),
        (f"a max_relative_positions of {limit - 1}", {"max_relative_positions": limit - 1}),
    ):
        yield from predict_case(case.with_arguments(**changes), f"matches {words}")
    if limit // 2 != buckets - 1:
        with np.errstate(all="ignore"):
            yield Prediction(
                "matches num_buckets and max_relative_positions exchanged",
                by_logarithm(case, np.ceil, limit=buckets - 1, mid=limit // 2),
            )


def buckets_of_t5(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict T5's buckets, signed or with half of them for each direction."""
    side, limit = mid_of(case), case.arguments["max_relative_positions"]
    relative, mid = case.arguments["relative_position"], side // 2
    if not 0 < mid < limit:
        return
    distance = np.abs(relative)
    steps = np.log(np.maximum(distance, mid) / mid) / np.log(limit / mid) * (side - mid)
    bucket = np.where(distance < mid, distance, np.minimum(mid + np.floor(steps), side - 1))
    for words, output in (
        (", with the sign of the distance", np.sign(relative) * bucket),
        (", later keys in the second half", bucket + side * (relative < 0)),
        (", earlier keys in the second half", bucket + side * (relative > 0)),
    ):
        yield Prediction(f"matches T5's buckets{words}", np.asarray(output, np.float64))


def narrow_logarithm(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict logarithms in bfloat16 or float16."""
    limit, mid = case.arguments["max_relative_positions"] - 1, mid_of(case)
    for dtype in ("bfloat16", "float16"):

        def narrow(ratio: Floats, dtype: str = dtype) -> Floats:
            return round_to(np.log(round_to(ratio, dtype)), dtype)

        def last(values: Floats, dtype: str = dtype) -> Floats:
            return np.ceil(round_to(values, dtype))

        yield Prediction(
            f"matches logarithms in {dtype}",
            by_logarithm(case, np.ceil, limit=limit, mid=mid, log=narrow),
        )
        yield Prediction(
            f"matches every step of the logarithm in {dtype}",
            by_logarithm(case, last, limit=limit, mid=mid, log=narrow),
        )


def relative_of(case: Case) -> Integers:
    """Return query position minus key position."""
    place = np.arange(case.arguments["q"].shape[1])
    return place[:, None] - place


def span_of(case: Case) -> int:
    """Return half the number of rows of the tables."""
    return int(case.arguments["q_r"].shape[1]) // 2


def buckets_of(case: Case, relative: Integers) -> Case:
    """Return the case of the buckets that a case of version 2 uses."""
    arguments = {
        "relative_position": relative,
        "num_buckets": span_of(case),
        "max_relative_positions": case.arguments["max_relative_positions"],
    }
    far = {"far": case.conventions["far"]}
    return Case(case.scheme, case.scheme.calls["deberta_bucket"], far, arguments, "integer")


def placed(case: Case, relative: Integers) -> Integers:
    """Return the distances, or in version 2 their buckets."""
    if case.call.name == "deberta_scores":
        return relative
    return buckets_of(case, relative).truth.astype(np.int64)


def index_of(case: Case, relative: Integers | None = None) -> Integers:
    """Return the row of the tables for each query and key."""
    span = span_of(case)
    relative = relative_of(case) if relative is None else relative
    return np.clip(placed(case, relative) + span, 0, 2 * span - 1)


def terms(case: Case, c2p: Integers, p2c: Integers, values: Arguments) -> list[Floats]:
    """Compute the three unscaled terms for the table rows of each query and key."""
    q, k, q_r, k_r = (values[name] for name in ("q", "k", "q_r", "k_r"))
    to_position = np.take_along_axis(products(q, k_r), np.broadcast_to(c2p, case.shape), -1)
    by_key = products(k, q_r)
    to_content = np.take_along_axis(by_key, np.broadcast_to(p2c.T, case.shape), -1)
    return [products(q, k), to_position, np.swapaxes(to_content, 1, 2)]


def p2c_of(case: Case, index: Integers) -> Integers:
    """Return the rows for position to content, from the rows for content to position."""
    return index.T if case.conventions.get("p2c_index") == "key-minus-query" else index


def divisor(case: Case) -> float:
    """Return the square root of three times head_dim."""
    return float(np.sqrt(3 * case.arguments["q"].shape[2]))


def with_index(case: Case, index: Integers) -> Floats:
    """Compute the logits with other rows of the tables."""
    parts = terms(case, index, p2c_of(case, index), case.arguments)
    return np.asarray(sum(parts) / divisor(case))


def score_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale.

    head_dim serves as the angle.
    """
    sizes = {name: np.abs(case.arguments[name]) for name in ("q", "k", "q_r", "k_r")}
    index = index_of(case)
    scale = np.asarray(sum(terms(case, index, p2c_of(case, index), sizes)) / divisor(case))
    return ErrorTerms(scale, np.full((), float(case.arguments["q"].shape[2])))


def arrays(heads: int, length: int, rows: int, head_dim: int) -> ArgumentDict:
    """Make arguments of these sizes."""
    return {
        "q": fine((heads, length, head_dim)),
        "k": fine((heads, length, head_dim), 5),
        "q_r": fine((heads, rows, head_dim), 11),
        "k_r": fine((heads, rows, head_dim), 23),
    }


def score_arguments(trial: Trial) -> ArgumentDict:
    """Draw sequences whose distances lie within the span or beyond it."""
    heads = trial.choose("heads", (2, 1, 3))
    length = trial.choose("length", (6, 1, 2, 3, 9, 17))
    head_dim = trial.choose("head_dim", (4, 1, 2, 3, 8, 16))
    return arrays(heads, length, trial.choose("rows", (8, 2, 4, 16, 40)), head_dim)


def v2_arguments(trial: Trial) -> ArgumentDict:
    """Draw sequences whose distances lie within the buckets or beyond them."""
    heads = trial.choose("heads", (2, 1, 3))
    length = trial.choose("length", (12, 1, 2, 5, 24))
    head_dim = trial.choose("head_dim", (4, 1, 3, 8))
    span, limit = trial.pick.one_of(((4, 8), (8, 16), (6, 12), (5, 9)))
    chosen = arrays(heads, length, trial.choose("rows", (2 * span,)), head_dim)
    limits = trial.choose("max_relative_positions", (limit,))
    return chosen | {"max_relative_positions": limits}


def arguments_of(trial: Trial) -> ArgumentDict:
    """Draw arguments for the version under trial."""
    is_v2 = trial.subject.call.name == "deberta_v2_scores"
    return v2_arguments(trial) if is_v2 else score_arguments(trial)


def score_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield sequences longer and shorter than the span; many heads, channels and rows."""
    for heads, length, rows, head_dim in (
        (1, 1, 8, 1),
        (3, 7, 10, 5),
        (2, 5, 10, 64),
        (12, 3, 16, 2),
        (1, 48, 24, 2),
        (1, 300, 16, 1),
        (1, 9, 600, 1),
    ):
        changed = arrays(heads, length, rows, head_dim)
        if case.call.name == "deberta_v2_scores":
            changed["max_relative_positions"] = rows
        yield changed


def constant_keys(trial: Trial) -> None:
    """Check that adding a vector to all rows of k_r adds one number to all logits of a query."""
    chosen = arguments_of(trial)
    few = lattice(chosen["k_r"].shape)  # of few bits, so that every dtype holds the sums
    y, other = (trial.answer(**(chosen | {"k_r": rows})) for rows in (few, few + 1))
    added = y.given("q").sum(axis=-1, keepdims=True) / divisor(y.case)
    trial.assert_zero(
        y + added - other,
        "a vector added to all rows of k_r does not add q·k_r / sqrt(3 head_dim) to every logit",
    )


def roles_exchanged_mirrored(trial: Trial) -> None:
    """Check that exchanging queries and keys, with mirrored tables, transposes the logits.

    Mirrored tables have the rows of opposite distances exchanged.
    """
    chosen = arguments_of(trial)
    mirrored = {
        name: np.concatenate([chosen[name][:, :1], chosen[name][:, :0:-1]], axis=1)
        for name in ("q_r", "k_r")
    }
    turned = exchanged(chosen | mirrored, "q_r", "k_r")
    y, other = trial.answer(**chosen), trial.answer(**(chosen | turned))
    within = np.abs(placed(y.case, relative_of(y.case))) < span_of(y.case)
    trial.assert_zero(
        (y - other.swapped(1, 2)).where(within),
        "exchanging queries and keys, and mirroring the tables, does not transpose the logits",
    )


def row_zero(trial: Trial) -> None:
    """Check that row 0 of the tables is never read."""
    chosen = arguments_of(trial)
    other = {name: chosen[name].copy() for name in ("q_r", "k_r")}
    for table in other.values():
        table[:, 0] = 0.75
    y, changed = trial.answer(**chosen), trial.answer(**(chosen | other))
    trial.assert_none(changed, y.values != changed.values, "row 0 of the tables changes the logits")


CONTENT_ALONE = content_alone(
    arguments_of,
    divisor,
    "without relative positions the logits are not q·k / sqrt(3 head_dim)",
    "q_r",
    "k_r",
)
TRANSLATION = token_left_out(
    arguments_of,
    slice(1, None),
    "the first token's absence changes other tokens' scores",
    "q",
    "k",
)


def table_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict δ(j, i) where δ(i, j) belongs, in both terms."""
    yield Prediction("matches distances of the opposite sign", with_index(case, index_of(case).T))


def rows_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict tables read one row too high or too low."""
    last = 2 * span_of(case) - 1
    for shift in (1, -1):
        moved = np.clip(placed(case, relative_of(case)) + span_of(case) + shift, 0, last)
        yield Prediction(
            f"matches rows of the tables shifted by {shift:+d}", with_index(case, moved)
        )


def indices_clipped(case: Case) -> Iterator[tuple[str, Integers]]:
    """Yield rows of the tables for distances clipped at other ends, or not at all, in words."""
    span, distance = span_of(case), placed(case, relative_of(case))
    last = 2 * span - 1
    for words, index in (
        (f"distances cut to ±{span - 1}", np.clip(distance, 1 - span, span - 1) + span),
        ("distances started over beyond the tables", (distance + span) % (2 * span)),
        (f"distances cut to ±{span // 2}", np.clip(distance, -(span // 2), span // 2) + span),
        (
            f"rows of the tables cut at {last - 1}, not at the last",
            np.minimum(distance + span, last - 1),
        ),
        ("rows of the tables cut at 1, not at the first", np.maximum(distance + span, 1)),
    ):
        yield words, np.clip(index, 0, last)


def clip_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances clipped at other magnitudes, or wrapped around beyond the tables."""
    for words, index in indices_clipped(case):
        yield Prediction(f"matches {words}", with_index(case, index))


def wrong_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another divisor, or one that not all terms share."""
    index = index_of(case)
    heads, _, head_dim = case.arguments["q"].shape
    c2c, c2p, p2c = terms(case, index, p2c_of(case, index), case.arguments)
    total, root = c2c + c2p + p2c, np.sqrt(head_dim)
    for words, under in (
        ("head_dim", head_dim),
        ("2 head_dim", 2 * head_dim),
        ("4 head_dim", 4 * head_dim),
        ("3 heads head_dim", 3 * heads * head_dim),
        ("heads head_dim", heads * head_dim),
    ):
        yield Prediction(f"matches 1 / sqrt({words})", total / np.sqrt(under))
    yield Prediction("matches 1 / head_dim", total / head_dim)
    yield Prediction("matches 1 / head_dim^(1/4)", total / np.sqrt(root))
    yield Prediction("matches logits that are not scaled", total)
    third = np.sqrt(3) * root
    yield Prediction("matches 1 / sqrt(head_dim) for content", c2c / root + (c2p + p2c) / third)
    yield Prediction("matches 1 / sqrt(head_dim) for positions", c2c / third + (c2p + p2c) / root)
    yield Prediction("matches only the content scaled", c2c / third + c2p + p2c)
    yield Prediction("matches position to content scaled twice", (c2c + c2p + p2c / third) / third)


def terms_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a term left out, with the divisor of three terms or of the remaining ones."""
    index = index_of(case)
    c2c, c2p, p2c = terms(case, index, p2c_of(case, index), case.arguments)
    head_dim = case.arguments["q"].shape[2]
    for words, scores, left in (
        ("content to position", c2c + p2c, 2),
        ("position to content", c2c + c2p, 2),
        ("both position terms", c2c, 1),
        ("content to content", c2p + p2c, 2),
    ):
        for count in (3, left):
            yield Prediction(f"matches logits without {words}", scores / np.sqrt(count * head_dim))


def tables_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict q_r and k_r exchanged, or one of the tables in both terms."""
    q_r, k_r = case.arguments["q_r"], case.arguments["k_r"]
    yield from predict_case(case.with_arguments(q_r=k_r, k_r=q_r), "matches q_r and k_r exchanged")
    yield from predict_case(case.with_arguments(q_r=k_r), "matches k_r in both terms")
    yield from predict_case(case.with_arguments(k_r=q_r), "matches q_r in both terms")


def buckets_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances instead of their buckets."""
    span = span_of(case)
    index = np.clip(relative_of(case) + span, 0, 2 * span - 1)
    yield Prediction("matches distances that are not put into buckets", with_index(case, index))


def buckets_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the logits for wrong buckets."""
    behind, span = buckets_of(case, relative_of(case)), span_of(case)
    for model in (rounded_otherwise, other_sizes):
        for prediction in model(behind, got):
            if np.all(np.isfinite(prediction.output)):
                index = np.clip(prediction.output.astype(np.int64) + span, 0, 2 * span - 1)
                yield replace(prediction, output=with_index(case, index))


def p2c_transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict δ(j, i) in position to content, as in the paper."""
    index = index_of(case)
    parts = terms(case, index, index.T, case.arguments)
    yield Prediction(
        "matches position to content at key-minus-query",
        np.asarray(sum(parts) / divisor(case)),
    )


def one_term_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one of the terms with positions read for the other sign, or not transposed."""
    index = index_of(case)
    rows = p2c_of(case, index)
    c2c, c2p, p2c = terms(case, index, rows, case.arguments)
    other = terms(case, index.T, rows, case.arguments)[1]
    by_key = np.swapaxes(terms(case, index, rows.T, case.arguments)[2], 1, 2)
    mixed = {**case.arguments, "k": case.arguments["q"]}
    of_queries = terms(case, index, rows, mixed)[2]
    by_row = np.swapaxes(terms(case, index, rows.T, mixed)[2], 1, 2)
    for words, wrong in indices_clipped(case):
        for term, (c2p_rows, p2c_rows) in {
            "content to position": (wrong, rows),
            "position to content": (index, p2c_of(case, wrong)),
        }.items():
            total = sum(terms(case, c2p_rows, p2c_rows, case.arguments))
            yield Prediction(
                f"matches {term} alone with {words}", np.asarray(total / divisor(case))
            )
    for words, total in (
        ("position to content computed from q at each key, not from k", c2c + c2p + of_queries),
        ("position to content computed from each query, not from the key", c2c + c2p + by_row),
        ("content to position at key minus query", c2c + other + p2c),
        ("position to content that is not transposed back", c2c + c2p + by_key),
        ("position to content transposed, rows and all", c2c + c2p + np.swapaxes(p2c, 1, 2)),
    ):
        yield Prediction(f"matches {words}", total / divisor(case))


far_swapped = other_conventions("far", "matches {value} buckets; {claimed} was claimed")


def shared(wrong_scale_id: str) -> dict[str, DeviationModel]:
    """Return the deviations of both versions; only the id of a wrong scale differs."""
    return {
        "sign-flipped": table_reversed,
        "terms-missing": terms_missing,
        wrong_scale_id: wrong_scale,
        "tables-exchanged": tables_exchanged,
        "rows-shifted": rows_shifted,
    }


def saved_buckets(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Yield the arguments for an array that has a bucket for each query and key."""
    saved = saved_lags(array)
    if saved is None or (saved[1] >= 0).all():
        return
    lag, part = saved
    for buckets, limit in CONFIGURATIONS:
        size = {"num_buckets": buckets, "max_relative_positions": limit}
        yield {"relative_position": lag, **size}, part


KNOWLEDGE = {
    "deberta_bucket": CallKnowledge(
        error_terms=bucket_terms,
        arguments=bucket_arguments,
        sweep=bucket_sweep,
        sizes=bucket_sizes,
        identify=saved_buckets,
        invariants={
            "odd": odd,
            "monotone": monotone,
            "near-exactly": near_exactly,
            "last-bucket": last_bucket,
            "far-together": far_together,
        },
        deviations={
            "bucket-sign-flipped": sign_flipped,
            "bucket-far-swapped": far_swapped,
            "bucket-rounding": rounded_otherwise,
            "bucket-sizes": other_sizes,
            "bucket-narrow-logarithm": narrow_logarithm,
        },
        readings=(buckets_of_t5,),
    ),
    "deberta_scores": CallKnowledge(
        error_terms=score_terms,
        arguments=score_arguments,
        sweep=no_sweep,
        sizes=score_sizes,
        invariants={
            "plain": CONTENT_ALONE,
            "translation": TRANSLATION,
            "toeplitz": toeplitz(arguments_of),
            "constant-keys": constant_keys,
            "roles-exchanged": roles_exchanged(arguments_of, "q_r", "k_r"),
            "roles-exchanged-mirrored": roles_exchanged_mirrored,
        },
        deviations={
            "p2c-index-swapped": other_conventions(
                "p2c_index", "matches position to content at {value}; {claimed} was claimed"
            ),
            **shared("wrong-scale"),
            "clip-wrong": clip_wrong,
        },
        readings=(one_term_wrong,),
    ),
    "deberta_v2_scores": CallKnowledge(
        error_terms=score_terms,
        arguments=v2_arguments,
        sweep=no_sweep,
        sizes=score_sizes,
        invariants={
            "v2-plain": CONTENT_ALONE,
            "v2-translation": TRANSLATION,
            "v2-toeplitz": toeplitz(arguments_of),
            "v2-constant-keys": constant_keys,
            "v2-roles-exchanged-mirrored": roles_exchanged_mirrored,
            "row-zero": row_zero,
        },
        deviations={
            "v2-p2c-index-swapped": p2c_transposed,
            **shared("v2-wrong-scale"),
            "far-swapped": far_swapped,
            "buckets-missing": buckets_missing,
            "buckets-wrong": buckets_wrong,
        },
        readings=(one_term_wrong,),
    ),
}
