"""Log-spaced continuous position bias: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_conformance.families.biases import heads_apart
from posenc_conformance.families.layers import gelu, tanh_formula
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, fine, round_to
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict
from posenc_conformance.schemes.bias.relative_table_2d import Index, Window, window

Sides = tuple[float, float]
Offsets = tuple[Floats, Floats]
Change = Iterator[tuple[str, Offsets]]
WINDOWS = ((2, 3), (3, 2), (2, 2), (4, 2), (5, 3))
REACH = 8.0
ROUNDINGS = 4
"""The constant A of the error model, which applies within the sigmoid as well."""


def normalized(case: Case) -> bool:
    """Return whether offsets are measured in units of a window."""
    return case.conventions["coordinates"] == "normalized"


def through_sigmoid(case: Case) -> bool:
    """Return whether the bias is 16 times a sigmoid."""
    return case.conventions.get("output") == "sigmoid"


def sides(case: Case) -> tuple[int, int]:
    """Return the numbers of patches along both axes."""
    at = window(case)
    return at.height, at.width


def pretrained(case: Case) -> tuple[int, int]:
    """Return the height and width, in patches, of the window by which offsets are divided.

    It is the call's own window unless the call names a pre-training window.
    """
    names = ("pretrained_height", "pretrained_width")
    high, wide = (
        int(case.arguments.get(name, 0)) or side
        for name, side in zip(names, sides(case), strict=True)
    )
    return high, wide


def offsets(case: Case) -> Offsets:
    """Return the offsets of every row of the table, along both axes."""
    high, wide = sides(case)
    mesh = np.meshgrid(np.arange(1.0 - high, high), np.arange(1.0 - wide, wide), indexing="ij")
    return mesh[0].ravel(), mesh[1].ravel()


def logarithm(case: Case, part: Floats) -> Floats:
    """Compute the signed logarithm of offsets, as ``measured`` returns them."""
    whole = np.log(REACH) if normalized(case) else 1.0
    return np.asarray(np.sign(part) * np.log1p(np.abs(part)) / whole)


def measured(case: Case, given: Offsets, divisors: Sides | None = None) -> Offsets:
    """Measure offsets in units of a window, times 8, if the convention is to normalise."""
    if not normalized(case):
        return given
    down, right = divisors or [max(size - 1.0, 1.0) for size in pretrained(case)]
    return REACH * given[0] / down, REACH * given[1] / right


def coordinates(case: Case) -> Offsets:
    """Compute the network's inputs for every row of the table."""
    down, right = measured(case, offsets(case))
    return logarithm(case, down), logarithm(case, right)


def answers(case: Case, given: Offsets, *, relu: bool = True) -> Floats:
    """Compute the network's answer: [heads, rows]."""
    w1, b1, w2 = (case.arguments[name] for name in ("w1", "b1", "w2"))
    hidden = np.stack(given, axis=-1) @ w1.T + b1
    return np.asarray(w2 @ (np.maximum(hidden, 0) if relu else hidden).T)


def sigmoid(x: Floats) -> Floats:
    """Compute ``1 / (1 + exp(-x))``."""
    return np.exp(-np.logaddexp(0, -x))


def spread(case: Case, table: Floats, rows: Index | None = None) -> Floats:
    """Look up numbers of shape [heads, rows] for every query and key."""
    return np.asarray(table[:, window(case).rows() if rows is None else rows])


def biases(case: Case, given: Offsets, rows: Index | None = None) -> Floats:
    """Compute the bias for these coordinates."""
    outputs = answers(case, given)
    return spread(case, 16 * sigmoid(outputs) if through_sigmoid(case) else outputs, rows)


def result(case: Case, given: Offsets) -> Floats:
    """Compute the result of the case's call for these coordinates."""
    if case.call.name == "log_cpb_coordinates":
        return np.stack(given, axis=-1)
    return biases(case, given)


def lost(case: Case, given: Offsets) -> Floats:
    """Compute the rounding error of coordinates, in units of u: [rows, 2]."""
    place = np.abs(np.stack(given, axis=-1))
    return np.asarray(4 * place + (place > 0) * normalized(case))


def coordinate_terms(case: Case) -> ErrorTerms:
    """Return the magnitude as scale, and the angle.

    The rounding error of the coordinates, relative to the scale, serves as the angle.
    """
    inputs = coordinates(case)
    scale = np.abs(np.stack(inputs, axis=-1))
    return ErrorTerms(scale, lost(case, inputs) / np.where(scale > 0, scale, 1.0))


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of magnitudes as scale, and the angle.

    A sigmoid transforms the scale as well.
    """
    inputs = coordinates(case)
    w1, b1, w2 = (np.abs(case.arguments[name]) for name in ("w1", "b1", "w2"))
    place = np.abs(np.stack(inputs, axis=-1))
    total = w2 @ (place @ w1.T + b1).T
    through = w2 @ (lost(case, inputs) @ w1.T).T
    angle = len(b1) + 4 + through / np.where(total > 0, total, 1.0)
    if through_sigmoid(case):
        share = sigmoid(answers(case, inputs))
        further = np.exp(ROUNDINGS * UNIT_ROUNDOFF[case.dtype] * total)
        slope = np.minimum(0.25, share * (1 - share) * further)
        total = 16 * (np.maximum(share, 0.5) + slope * total)
    return ErrorTerms(spread(case, total), spread(case, angle))


def layers(heads: int, hidden: int) -> dict[str, Floats]:
    """Make weights of a network; some of its units switch on within the range of its inputs."""
    return {"w1": fine((hidden, 2)), "b1": fine((hidden,), 13), "w2": fine((heads, hidden), 29)}


def sized(height: int, width: int, before: tuple[int, int] = (0, 0)) -> dict[str, int]:
    """Return the size arguments of a window and of its pre-training window."""
    return {
        "height": height,
        "width": width,
        "pretrained_height": before[0],
        "pretrained_width": before[1],
    }


def windows(trial: Trial) -> ArgumentDict:
    """Draw a small window, and the same or another window of pre-training."""
    return sized(*trial.pick.one_of(WINDOWS), trial.pick.one_of(((0, 0), (3, 4), (2, 2))))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a network for a small window."""
    weights = layers(trial.choose("heads", (2, 1, 3)), trial.choose("hidden", (4, 1, 7)))
    return {**weights, **windows(trial)}


def window_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield windows of released models, narrow ones, and one of a single patch."""
    for height, width, before in (
        (8, 8, (0, 0)),
        (16, 16, (8, 8)),
        (12, 12, (6, 6)),
        (2, 33, (0, 0)),
        (1, 5, (0, 0)),
        (5, 1, (0, 0)),
        (1, 1, (0, 0)),
    ):
        yield sized(height, width, before)


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the windows of ``window_sizes``, many heads, and the 512 units of released models."""
    for size in window_sizes(case):
        yield {**layers(2, 5), **size}
    for heads, hidden in ((33, 1), (1, 33), (3, 512)):
        yield {**layers(heads, hidden), **sized(2, 3)}


def offset_only(trial: Trial) -> None:
    """Check that queries and keys at the same offset have the same bias."""
    y = trial.answer(**arguments(trial))
    rows = window(y.case).rows()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    query, key = np.unravel_index(first[group.reshape(rows.shape)], rows.shape)
    trial.assert_zero(y - y[:, query, key], "equal offsets have different numbers")


def axes_exchanged(trial: Trial) -> None:
    """Check that exchanging height and width, in the window and in w1, exchanges the patches."""
    chosen = arguments(trial)
    turned = sized(
        chosen["width"],
        chosen["height"],
        (chosen["pretrained_width"], chosen["pretrained_height"]),
    )
    y = trial.answer(**chosen)
    other = trial.answer(**(chosen | turned | {"w1": chosen["w1"][:, ::-1].copy()}))
    order = np.arange(chosen["height"] * chosen["width"]).reshape(sides(other.case)).T.ravel()
    trial.assert_zero(
        y - other[:, order[:, None], order],
        "exchanging both axes does not exchange the patches",
    )


def upside_down(trial: Trial) -> None:
    """Check that negating w1 exchanges queries and keys."""
    chosen = arguments(trial)
    y, other = trial.answer(**chosen), trial.answer(**(chosen | {"w1": -chosen["w1"]}))
    trial.assert_zero(
        y - other.swapped(1, 2), "changing the signs of w1 does not exchange queries and keys"
    )


def silent_units(trial: Trial) -> None:
    """Check that with all units below 0 the bias is that of an answer of 0."""
    chosen = arguments(trial)
    silent = {"w1": 0 * chosen["w1"], "b1": np.full(chosen["b1"].shape, -1.0)}
    y = trial.answer(**(chosen | silent))
    at_zero = 8.0 if through_sigmoid(y.case) else 0.0
    trial.assert_zero(y - Exact(at_zero), "units below 0 contribute to the bias")


def cropped(trial: Trial) -> None:
    """Check that a smaller window has the same biases, with the same window of pre-training."""
    chosen = arguments(trial)
    chosen |= {"pretrained_height": 4, "pretrained_width": 3}
    whole = trial.answer(**chosen)
    high, wide = chosen["height"] - 1 or 1, chosen["width"] - 1 or 1
    part = trial.answer(**(chosen | {"height": high, "width": wide}))
    inside = np.arange(whole.case.shape[-1]).reshape(sides(whole.case))[:high, :wide].ravel()
    trial.assert_zero(whole[:, inside[:, None], inside] - part, "a smaller window has other biases")


def between(trial: Trial) -> None:
    """Check that biases lie between 0 and 16."""
    y = trial.answer(**arguments(trial))
    for outside in (y - 16, -y):
        trial.assert_zero(outside.positive(), "the bias is not between 0 and 16")


def odd(trial: Trial) -> None:
    """Check that opposite offsets have opposite coordinates."""
    y = trial.answer(**windows(trial))
    trial.assert_zero(y + y[::-1], "opposite offsets do not have opposite coordinates")


def corner(trial: Trial) -> None:
    """Check that the largest offset of pre-training has the coordinate log2(9) / 3."""
    height, width = trial.pick.one_of(WINDOWS)
    y = trial.answer(**sized(height, width))
    trial.assert_zero(
        y[-1] - np.log(9) / np.log(8), "the corner does not have the coordinate log2(9) / 3"
    )


def axes_apart(trial: Trial) -> None:
    """Check that exchanging height and width exchanges the columns."""
    chosen = windows(trial)
    high, wide = chosen["height"], chosen["width"]
    turned = sized(wide, high, (chosen["pretrained_width"], chosen["pretrained_height"]))
    y, other = trial.answer(**chosen), trial.answer(**turned)
    order = np.arange(len(other.values)).reshape(2 * wide - 1, 2 * high - 1).T.ravel()
    trial.assert_zero(y - other[order, ::-1], "exchanging both axes does not exchange the columns")


def given_by(changes: Callable[[Case], Change]) -> DeviationModel:
    """Make a model of the results for other coordinates."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for words, inputs in changes(case):
            yield Prediction(words, result(case, inputs))

    return models


def logarithms(case: Case, parts: Offsets) -> Offsets:
    """Compute the logarithms of both axes."""
    return logarithm(case, parts[0]), logarithm(case, parts[1])


def divided(case: Case, high: float, wide: float) -> Offsets:
    """Compute coordinates with other divisors."""
    return logarithms(case, measured(case, offsets(case), (high, wide)))


def window_for_pretrained(case: Case) -> Change:
    """Predict offsets measured by the window itself, where the call names another one."""
    if normalized(case) and pretrained(case) != sides(case):
        high, wide = (max(side - 1.0, 1.0) for side in sides(case))
        yield "matches offsets measured by the window itself", divided(case, high, wide)


def other_divisors(case: Case) -> Change:
    """Predict offsets with other divisors.

    These are the size instead of the size less one, twice the size less one, half the size, the
    size of one axis for both, or none.
    """
    if not normalized(case):
        return
    high, wide = pretrained(case)
    down, right = max(high - 1.0, 1.0), max(wide - 1.0, 1.0)
    for words, divisors in (
        ("the size of the window, not less one", (high, wide)),
        ("the height's size for both axes", (down, down)),
        ("the width's size for both axes", (right, right)),
        ("twice the size less one", (2 * high - 1, 2 * wide - 1)),
        ("half the size", (high / 2, wide / 2)),
        *([("nothing", (1.0, 1.0))] if sides(case)[0] > 1 else []),
    ):
        if divisors != (down, right):
            yield f"matches offsets divided by {words}", divided(case, *divisors)
    if sides(case)[0] == 1:
        words = "matches offsets that are not divided in a window of a single row"
        yield words, divided(case, 1.0, 1.0)


def without_eight(case: Case) -> Change:
    """Predict offsets between -1 and 1 in the logarithm."""
    if normalized(case):
        down, right = measured(case, offsets(case))
        yield "matches offsets not multiplied by 8", logarithms(case, (down / REACH, right / REACH))


def other_logarithms(case: Case) -> Change:
    """Predict logarithms to another base, which are a multiple of the right ones."""
    whole = np.log(REACH) if normalized(case) else 1.0
    for words, base in (
        ("base 2", 2.0),
        ("base e", np.e),
        ("base 9", 9.0),
        ("base 8", 8.0),
        ("base 10", 10.0),
    ):
        times = whole / np.log(base)
        if abs(times - 1) > 1e-9:
            down, right = coordinates(case)
            yield f"matches logarithms to {words}", (times * down, times * right)
    if normalized(case):
        down, right = coordinates(case)
        yield (
            "matches natural logarithms divided by 3",
            (down * np.log(2), right * np.log(2)),
        )


def linear(case: Case) -> Change:
    """Predict coordinates without logarithms."""
    down, right = measured(case, offsets(case))
    yield "matches offsets without logarithms", (down, right)
    if normalized(case):
        yield (
            "matches offsets between -1 and 1, without logarithms",
            (down / REACH, right / REACH),
        )


def unsigned(case: Case) -> Change:
    """Predict distances instead of offsets."""
    down, right = coordinates(case)
    yield "matches distances in the place of offsets", (np.abs(down), np.abs(right))


def other_form(case: Case) -> Change:
    """Predict the coordinates of the other convention."""
    claimed = case.conventions["coordinates"]
    other = case.with_conventions(coordinates="plain" if claimed == "normalized" else "normalized")
    yield (
        f"matches {other.conventions['coordinates']} coordinates; {claimed} was claimed",
        coordinates(other),
    )


def reversed_offsets(case: Case) -> Change:
    """Predict offsets of key minus query, on both axes or on one."""
    down, right = coordinates(case)
    yield "matches offsets of key minus query on both axes", (-down, -right)
    yield "matches offsets of key minus query on the height alone", (-down, right)
    yield "matches offsets of key minus query on the width alone", (down, -right)


def transposed(case: Case) -> Change:
    """Predict width before height, in the coordinates or in the order of rows."""
    down, right = coordinates(case)
    yield "matches the width's coordinate before the height's", (right, down)
    high, wide = sides(case)
    order = np.arange(len(down)).reshape(2 * high - 1, 2 * wide - 1).T.ravel()
    yield "matches offsets along the height that run faster", (down[order], right[order])


def listed_by_column(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mistakes of ``transposed``, and patches listed column by column."""
    yield from given_by(transposed)(case, got)
    high, wide = sides(case)
    order = np.arange(high * wide).reshape(high, wide).T.ravel()
    rows = Window(high, wide).rows()[np.ix_(order, order)]
    output = biases(case, coordinates(case), rows)
    yield Prediction("matches patches listed column by column", output)


def other_outputs(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the network's answer without a sigmoid, or with another function."""
    answer = answers(case, coordinates(case))
    for words, output in (
        ("the network's answer without a sigmoid", answer),
        ("16 times a sigmoid", 16 * sigmoid(answer)),
        ("a sigmoid not multiplied by 16", sigmoid(answer)),
        ("16 times a hyperbolic tangent", 16 * np.tanh(answer)),
        ("16 times the network's answer", 16 * answer),
    ):
        yield Prediction(f"matches {words}", spread(case, output))


def other_activation(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a network with another function in place of the ReLU."""
    w1, b1, w2 = (case.arguments[name] for name in ("w1", "b1", "w2"))
    hidden = np.stack(coordinates(case), axis=-1) @ w1.T + b1
    for words, active in (
        ("GELU", gelu(hidden)),
        ("the tanh formula of GELU", tanh_formula(hidden)),
        ("SiLU", hidden * sigmoid(hidden)),
        ("a hyperbolic tangent", np.tanh(hidden)),
    ):
        answer = np.asarray(w2 @ active.T)
        output = 16 * sigmoid(answer) if through_sigmoid(case) else answer
        yield Prediction(f"matches a network with {words} in place of ReLU", spread(case, output))


def without_relu(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a network of two linear layers, without the ReLU."""
    answer = answers(case, coordinates(case), relu=False)
    output = 16 * sigmoid(answer) if through_sigmoid(case) else answer
    yield Prediction("matches a network without ReLU", spread(case, output))


def narrow(case: Case) -> Change:
    """Predict coordinates, or the arguments of their logarithms, in a narrow dtype."""
    parts, right = measured(case, offsets(case)), coordinates(case)
    for dtype in ("bfloat16", "float16"):
        held = round_to(right[0], dtype), round_to(right[1], dtype)
        yield f"matches coordinates in {dtype}", held
        inside = round_to(parts[0], dtype), round_to(parts[1], dtype)
        yield f"matches offsets of the window in {dtype}", logarithms(case, inside)


def table_shape(case: Case) -> tuple[int, ...]:
    """Return the shape [offsets, 2]."""
    return window(case).count, 2


def bias_shape(case: Case) -> tuple[int, ...]:
    """Return the shape [heads, queries, keys]."""
    tokens = int(np.prod(sides(case)))
    return case.arguments["w2"].shape[0], tokens, tokens


SHARED: dict[str, DeviationModel] = {
    "window-for-pretrained": given_by(window_for_pretrained),
    "divisor-wrong": given_by(other_divisors),
    "eight-left-out": given_by(without_eight),
    "logarithm-wrong": given_by(other_logarithms),
    "linear-coordinates": given_by(linear),
    "sign-lost": given_by(unsigned),
    "coordinates-swapped": given_by(other_form),
    "offset-reversed": given_by(reversed_offsets),
    "transposed": given_by(transposed),
    "narrow-coordinates": given_by(narrow),
}


KNOWLEDGE = {
    "log_cpb": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=bias_shape,
        invariants={
            "offset-only": offset_only,
            "axes-exchanged": axes_exchanged,
            "upside-down": upside_down,
            "silent-units": silent_units,
            "heads-apart": heads_apart(arguments, "w2"),
            "cropped": cropped,
            "between-0-and-16": between,
        },
        deviations={
            **SHARED,
            "transposed": listed_by_column,
            "output-swapped": other_outputs,
            "relu-left-out": without_relu,
        },
        readings=(other_activation,),
    ),
    "log_cpb_coordinates": CallKnowledge(
        error_terms=coordinate_terms,
        arguments=windows,
        sweep=no_sweep,
        sizes=window_sizes,
        shape=table_shape,
        invariants={"odd": odd, "corner": corner, "axes-apart": axes_apart},
        deviations=dict(SHARED),
    ),
}
