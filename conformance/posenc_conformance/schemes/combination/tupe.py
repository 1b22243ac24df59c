"""Untied positional encoding: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

import posenc
from posenc_conformance.families.lengths import Integers, no_sweep
from posenc_conformance.families.scores import (
    content_alone,
    dots,
    exchanged,
    products,
    roles_exchanged,
    token_left_out,
    zeros,
)
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Arrays = Arguments


def is_untied(case: Case) -> bool:
    """Return whether [CLS] has separate position scores."""
    return case.conventions.get("cls") != "tied"


def root(case: Case) -> float:
    """Compute the square root of twice head_dim."""
    return float(np.sqrt(2 * case.arguments["q"].shape[2]))


def content(values: Arrays) -> Floats:
    """Compute the dot products of queries and keys."""
    return products(values["q"], values["k"])


def thetas(values: Arrays) -> tuple[Floats, Floats]:
    """Compute θ1 and θ2 of each head, in the shape [heads, 1, 1].

    Without tokens, θ2 is empty.
    """
    every = products(values["p_q"], values["p_k"])
    return every[:, :1, :1], every[:, 1:2, 1:2]


def reset(between: Floats, row: Floats, column: Floats) -> Floats:
    """Replace the position scores of [CLS], first its column, then its row."""
    out = between.copy()
    out[:, :, :1] = column
    out[:, :1] = row
    return out


def positions(case: Case, values: Arrays) -> Floats:
    """Compute the position scores under the case's conventions."""
    every = products(values["p_q"], values["p_k"])
    return reset(every[:, 1:, 1:], *thetas(values)) if is_untied(case) else every


def buckets_of(case: Case) -> int:
    """Count the buckets that T5's rule fills.

    [CLS] may have one more row of the table.
    """
    return len(case.arguments["table"]) - (case.conventions["reset"] == "apart")


def rows_by_distance(case: Case, *, sign: int = 1, max_distance: int | None = None) -> Integers:
    """Compute T5's bucket of key minus query for each query and key."""
    place = np.arange(case.shape[-1])
    limit = case.arguments.get("max_distance", 128) if max_distance is None else max_distance
    return np.asarray(
        posenc.t5_bucket(
            sign * (place - place[:, None]), num_buckets=buckets_of(case), max_distance=limit
        )
    )


def read(case: Case, rows: Integers) -> Floats:
    """Read the biases in these rows of the table, which has a column for each head."""
    return np.array(np.moveaxis(case.arguments["table"][rows], -1, 0))


def cls_rows(case: Case, rows: Integers, row: int, column: int) -> Integers:
    """Replace the table rows of [CLS], first in its column, then in its row."""
    out = rows.copy()
    out[:, :1] = column
    out[:1] = row
    return out


def cls_biases(case: Case, rows: Integers) -> Floats:
    """Compute the biases, with [CLS] treated by the case's conventions."""
    if case.conventions["reset"] == "apart":
        buckets = buckets_of(case)
        return read(case, cls_rows(case, rows, buckets // 2, buckets))
    nothing = np.zeros((1, 1, 1))
    return reset(read(case, rows), nothing, nothing)


def biases(case: Case) -> Floats:
    """Compute the relative biases of the case, or zeros if it has none."""
    return cls_biases(case, rows_by_distance(case)) if has_table(case) else np.zeros(case.shape)


def has_table(case: Case) -> bool:
    """Return whether the case adds relative biases."""
    return "table" in case.arguments


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products and biases as scale.

    head_dim serves as the angle.
    """
    sizes = {name: np.abs(case.arguments[name]) for name in ("q", "k", "p_q", "p_k")}
    scale = (content(sizes) + positions(case, sizes)) / root(case) + np.abs(biases(case))
    return ErrorTerms(scale, np.full((), float(case.arguments["q"].shape[2])))


def arrays(heads: int, length: int, head_dim: int, extra: int) -> ArgumentDict:
    """Make arguments of these sizes."""
    return {
        "q": fine((heads, length, head_dim)),
        "k": fine((heads, length, head_dim), 5),
        "p_q": fine((heads, length + extra, head_dim), 11),
        "p_k": fine((heads, length + extra, head_dim), 23),
    }


def extra_rows(trial: Trial) -> int:
    """Count the rows of positions beyond those of the tokens."""
    return int(trial.subject.combination.conventions.get("cls") != "tied")


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads and tokens."""
    return arrays(
        trial.choose("heads", (2, 1, 3)),
        trial.choose("length", (5, 1, 2, 3, 9)),
        trial.choose("head_dim", (4, 1, 2, 3, 8, 16)),
        extra_rows(trial),
    )


def relative_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads and tokens, and a table of biases.

    Some sequences are long, for the buckets of the table.
    """
    more = int(trial.subject.combination.conventions["reset"] == "apart")
    buckets, limit = trial.pick.one_of(((32, 128), (4, 8), (8, 20)))
    rows = trial.choose("rows", (buckets + more,))
    heads = trial.choose("heads", (2, 1, 3))
    length = trial.choose("length", (5, 1, 2, 3, 24))
    chosen = arrays(heads, length, trial.choose("head_dim", (4, 1, 3, 8)), 1)
    chosen["table"] = fine((rows, heads), 31)
    return chosen | {"max_distance": trial.choose("max_distance", (limit,))}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one token and many, and many heads and channels.

    The numbers are powers of two and others.
    """
    extra = case.arguments["p_q"].shape[1] - case.arguments["q"].shape[1]
    for heads, length, head_dim in (
        (1, 1, 1),
        (3, 7, 5),
        (12, 2, 2),
        (2, 4, 64),
        (1, 300, 1),
        (1, 80, 2),
    ):
        changed = arrays(heads, length, head_dim, extra)
        if has_table(case):
            changed["table"] = fine((len(case.arguments["table"]), heads), 31)
        yield changed
    if has_table(case):  # repeat the last sizes with buckets that end elsewhere
        yield {**changed, "max_distance": 40}


def apart(trial: Trial) -> None:
    """Check that the logits are the sum of content logits and position logits."""
    chosen = arguments(trial)
    both = trial.answer(**chosen)
    words = trial.answer(**(chosen | zeros(chosen, "p_q", "p_k")))
    places = trial.answer(**(chosen | zeros(chosen, "q", "k")))
    trial.assert_zero(
        both - words - places,
        "content and positions together do not give the sum of what each gives",
    )


def cls_row(trial: Trial) -> None:
    """Check that without content the row of [CLS] is θ1, and the rest of its column θ2."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | zeros(chosen, "q", "k")))
    theta = dots(y, "p_q", "p_k") / root(y.case)
    for part, expected in (
        (y[:, :1], theta[:, :1, :1]),
        (y[:, 1:, :1], theta[:, 1:2, 1:2]),
    ):
        trial.assert_zero(part - expected, "the row and the column of [CLS] are not θ1 and θ2")


def roles_exchanged_untied(trial: Trial) -> None:
    """Check that exchanging queries and keys, and θ1 and θ2, transposes the logits.

    The score of [CLS] with itself is left out.
    """
    chosen = arguments(trial)
    swapped = exchanged(chosen, "p_q", "p_k")
    order = np.r_[1, 0, 2 : chosen["p_q"].shape[1]]
    swapped |= {name: swapped[name][:, order] for name in ("p_q", "p_k")}
    y, other = trial.answer(**chosen), trial.answer(**(chosen | swapped))
    token = np.arange(chosen["q"].shape[1])
    trial.assert_zero(
        (y - other.swapped(1, 2)).where(token[:, None] + token > 0),
        "exchanging queries and keys, and θ1 and θ2, does not transpose the logits",
    )


def biases_alone(trial: Trial) -> tuple[ArgumentDict, ArgumentDict]:
    """Draw arguments, and zeros to replace all of them but the table."""
    chosen = relative_arguments(trial)
    return chosen, zeros(chosen, "q", "k", "p_q", "p_k")


def relative_toeplitz(trial: Trial) -> None:
    """Check that the bias between tokens other than [CLS] depends on their distance only."""
    chosen, nothing = biases_alone(trial)
    y = trial.answer(**(chosen | nothing))[:, 1:, 1:]
    trial.assert_zero(y[:, 1:, 1:] - y[:, :-1, :-1], "the bias differs along a diagonal")


def constant_table(trial: Trial) -> None:
    """Check that a table of one value adds that value.

    If reset together, it adds nothing to the scores of [CLS].
    """
    chosen, nothing = biases_alone(trial)
    table = np.full_like(chosen["table"], 0.75)
    y = trial.answer(**(chosen | nothing | {"table": table}))
    expected = np.full(y.values.shape, 0.75)
    if y.case.conventions["reset"] == "together":
        expected[:, :1] = expected[:, :, :1] = 0.0
    trial.assert_zero(y - Exact(expected), "a constant table is not added as it is")


CONTENT_ALONE = "without positions the logits are not q·k / sqrt(2 head_dim)"
PREFIX = slice(None, -1), "the last token's absence changes other tokens' scores"
TOKENS = "q", "k", "p_q", "p_k"


def logits(case: Case, position: Floats, bias: Floats | None = None) -> Floats:
    """Compute logits from content, these position scores, and biases.

    ``bias`` replaces the biases of the case.
    """
    added = biases(case) if bias is None else bias
    return np.asarray((content(case.arguments) + position) / root(case) + added)


def theta_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict θ2 in the row of [CLS], or where its row and column meet."""
    if not is_untied(case):
        return
    first, second = thetas(case.arguments)
    between = products(case.arguments["p_q"], case.arguments["p_k"])[:, 1:, 1:]
    yield Prediction("matches θ1 and θ2 exchanged", logits(case, reset(between, second, first)))
    corner = reset(between, first, second)
    corner[:, :1, :1] = second
    yield Prediction("matches θ2 for [CLS] with itself", logits(case, corner))
    corner = reset(between, second, first)
    corner[:, :1, :1] = first
    yield Prediction("matches θ1 and θ2 exchanged, the column written last", logits(case, corner))


def cls_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict [CLS] not untied, untied only halfway, or untied to zero.

    Where [CLS] should be tied, predict it untied or without position.
    """
    every = products(case.arguments["p_q"], case.arguments["p_k"])
    if not is_untied(case):
        anyway = reset(every, every[:, :1, :1], every[:, 1:2, 1:2])
        yield Prediction("matches [CLS] untied", logits(case, anyway))
        nothing = np.zeros((1, 1, 1))
        alone = reset(every, nothing, nothing)
        yield Prediction("matches [CLS] without position", logits(case, alone))
        return
    first, second = thetas(case.arguments)
    between = every[:, 1:, 1:]
    row_only, column_only = between.copy(), between.copy()
    row_only[:, :1], column_only[:, :, :1] = first, second
    for words, position in (
        ("[CLS] tied", between),
        ("only the row of [CLS] untied", row_only),
        ("only the column of [CLS] untied", column_only),
        ("zeros for θ1 and θ2", reset(between, 0 * first, 0 * second)),
        ("θ1 in row and column", reset(between, first, first)),
    ):
        yield Prediction(f"matches {words}", logits(case, position))


def rows_not_offset(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the position of token i read from row i instead of row i + 1.

    If row i is right, predict row i + 1.
    """
    every = products(case.arguments["p_q"], case.arguments["p_k"])
    if is_untied(case):
        early = reset(every[:, :-1, :-1], *thetas(case.arguments))
        yield Prediction("matches positions one row too early", logits(case, early))
    else:
        late = np.roll(every, (-1, -1), axis=(1, 2))
        yield Prediction("matches positions one row too late", logits(case, late))


def wrong_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another divisor, or one that not all terms share."""
    heads, _, head_dim = case.arguments["q"].shape
    words_, places, bias = content(case.arguments), positions(case, case.arguments), biases(case)
    once, both = np.sqrt(head_dim), root(case)
    scores = words_ + places
    yield Prediction("matches 1 / sqrt(head_dim)", scores / once + bias)
    yield Prediction("matches 1 / sqrt(head_dim) for content", words_ / once + places / both + bias)
    yield Prediction(
        "matches 1 / sqrt(head_dim) for positions", words_ / both + places / once + bias
    )
    yield Prediction("matches only the content scaled", words_ / both + places + bias)
    yield Prediction("matches 1 / sqrt(head_dim) for content alone", words_ / once + places + bias)
    yield Prediction("matches only the positions scaled", words_ + places / both + bias)
    yield Prediction("matches logits that are not scaled", scores + bias)
    yield Prediction("matches 1 / sqrt(2 heads head_dim)", scores / np.sqrt(heads) / both + bias)
    yield Prediction("matches 1 / (2 head_dim)", scores / both**2 + bias)
    yield Prediction("matches 1 / head_dim", scores / head_dim + bias)
    yield Prediction("matches 1 / sqrt(heads head_dim)", scores / np.sqrt(heads) / once + bias)
    yield Prediction("matches 1 / sqrt(3 head_dim)", scores / np.sqrt(3 * head_dim) + bias)
    if has_table(case):
        yield Prediction("matches the bias scaled too", (scores + bias) / both)
        yield Prediction("matches the bias divided by sqrt(head_dim)", scores / both + bias / once)


def terms_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a term left out, or projections exchanged.

    Also predict positions added to content before the product.
    """
    values, bias = case.arguments, biases(case)
    words_, places = content(values), positions(case, values)
    yield Prediction("matches logits without positions", words_ / root(case) + bias)
    yield Prediction("matches logits without content", places / root(case) + bias)
    yield Prediction(
        "matches the content alone, as usual", words_ / np.sqrt(values["q"].shape[2]) + bias
    )
    turned = positions(case, {**values, "p_q": values["p_k"], "p_k": values["p_q"]})
    yield Prediction("matches p_q and p_k exchanged", (words_ + turned) / root(case) + bias)
    if has_table(case):
        yield Prediction("matches logits without relative biases", (words_ + places) / root(case))
    start = int(is_untied(case))
    q, k = values["q"] + values["p_q"][:, start:], values["k"] + values["p_k"][:, start:]
    for words, divisor in (
        ("", np.sqrt(q.shape[2])),
        (", divided by sqrt(2 head_dim)", root(case)),
    ):
        yield Prediction(
            f"matches positions added to content before the product{words}",
            products(q, k) / divisor + bias,
        )


def reset_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict [CLS] with relative biases like other tokens, without any, or in a row of its own."""
    rows = rows_by_distance(case)
    places = positions(case, case.arguments)
    yield Prediction(
        "matches relative biases of [CLS] like all others", logits(case, places, read(case, rows))
    )
    nothing = np.zeros((1, 1, 1))
    without = reset(read(case, rows), nothing, nothing)
    yield Prediction("matches [CLS] without relative biases", logits(case, places, without))
    if case.conventions["reset"] == "together":
        half = buckets_of(case) // 2
        own = read(case, cls_rows(case, rows, half, half))
        yield Prediction(
            "matches relative biases of [CLS] in a row of its own", logits(case, places, own)
        )


def cls_rows_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the two biases of [CLS] exchanged, or that of its column in its row.

    The bias of the column fills the whole row, or only the element where row and column meet.
    """
    if case.conventions["reset"] == "together":
        return
    rows, buckets = rows_by_distance(case), buckets_of(case)
    places = positions(case, case.arguments)
    turned = cls_rows(case, rows, buckets, buckets // 2)
    yield Prediction(
        "matches the biases of [CLS] exchanged", logits(case, places, read(case, turned))
    )
    corner = cls_rows(case, rows, buckets // 2, buckets)
    corner[:1, :1] = buckets
    yield Prediction(
        "matches the column's bias for [CLS] with itself", logits(case, places, read(case, corner))
    )
    same = cls_rows(case, rows, buckets, buckets)
    yield Prediction(
        "matches one bias for row and column of [CLS]", logits(case, places, read(case, same))
    )


def buckets_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances of the opposite sign, or another max_distance."""
    places = positions(case, case.arguments)
    turned = cls_biases(case, rows_by_distance(case, sign=-1))
    yield Prediction("matches distances of the opposite sign", logits(case, places, turned))
    right = case.arguments.get("max_distance", 128)
    for limit in (32, 64, 127, 128, 129, 256, 2 * right):
        if limit != right and limit > buckets_of(case) // 4:
            other = cls_biases(case, rows_by_distance(case, max_distance=limit))
            yield Prediction(
                f"matches max_distance {limit}; {right} was asked for", logits(case, places, other)
            )


ABSOLUTE: Mapping[str, Callable[[Case, Floats], Iterator[Prediction]]] = {
    "theta-exchanged": theta_exchanged,
    "cls-wrong": cls_wrong,
    "terms-wrong": terms_wrong,
    "wrong-scale": wrong_scale,
    "rows-not-offset": rows_not_offset,
}


KNOWLEDGE = {
    "tupe_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "content-alone": content_alone(arguments, root, CONTENT_ALONE, "p_q", "p_k"),
            "apart": apart,
            "cls-row": cls_row,
            "prefix": token_left_out(arguments, *PREFIX, *TOKENS),
            "roles-exchanged": roles_exchanged(arguments, "p_q", "p_k"),
            "roles-exchanged-untied": roles_exchanged_untied,
        },
        deviations=dict(ABSOLUTE),
    ),
    "tupe_relative_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=relative_arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "relative-content-alone": content_alone(
                relative_arguments, root, CONTENT_ALONE, "p_q", "p_k", "table"
            ),
            "relative-prefix": token_left_out(relative_arguments, *PREFIX, *TOKENS),
            "relative-toeplitz": relative_toeplitz,
            "constant-table": constant_table,
        },
        deviations={
            "reset-swapped": reset_swapped,
            "cls-rows-exchanged": cls_rows_exchanged,
            "buckets-wrong": buckets_wrong,
            **{f"relative-{name}": model for name, model in ABSOLUTE.items()},
        },
    ),
}
