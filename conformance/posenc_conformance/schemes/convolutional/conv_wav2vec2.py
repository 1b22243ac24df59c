"""Convolutional positions of wav2vec 2.0: bounds, invariants and deviations."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from posenc_conformance.families.layers import (
    EPSILON,
    Step,
    centred,
    convolved,
    convolved_back,
    gelu,
    gelu_slope,
    layer_norm,
    tanh_formula,
)
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

DERIVATIVES = 2**15
"""Number of derivatives computed at a time, few enough to fit in the cache."""
OFF_ZERO = 0.01
"""Offset of drawn weights, so that no tap has a norm of 0."""
STEEPEST = 1.13
"""Largest slope of GELU, at the root of 2."""
BEND = 0.8
"""Largest second derivative of GELU, at 0: twice the density of the normal distribution there."""
OWN_STEPS = 3
"""Float32 roundings of a GELU from an error function, in units of its argument."""


def per_tap(case: Case) -> Floats:
    """Return the weights, normalised so that the norm of each tap is its gain."""
    v = case.arguments["weight_v"]
    return np.asarray(case.arguments["weight_g"] * v / np.sqrt((v * v).sum(axis=(0, 1))))


def argument(case: Case, w: Floats, before: int | None = None) -> Floats:
    """Compute the input of the GELU for these weights."""
    values = case.arguments
    return np.asarray(convolved(values["x"], w, values["groups"], before) + values["bias"])


def of_directions(case: Case, before: int | None = None) -> Floats:
    """Compute the input of the GELU for the right weights of wav2vec 2.0."""
    return argument(case, per_tap(case), before)


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all terms as scale, and the roundings of its sums."""
    values = case.arguments
    terms = convolved(np.abs(values["x"]), np.abs(per_tap(case)), values["groups"])
    outputs, width, kernel = values["weight_v"].shape
    bias = np.abs(values["bias"])
    # The root of a norm halves the error of its sum.
    summed = (width * kernel + 1) * (terms + bias) + outputs * width / 2 * terms
    return after_gelu(case, of_directions(case), np.abs(values["x"]) + bias + terms, summed)


def after_gelu(case: Case, z: Floats, scale: Floats, summed: Floats) -> ErrorTerms:
    """Return the terms of a GELU of z, whose sums round ``summed``, in units of the roundoff.

    GELU passes an error on by its slope, which changes along the error by no more than ``BEND``
    times it, and half of that on average: where the curve is flat, hardly any error arrives.
    """
    accuracy = case.scheme.accuracy
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    off = accuracy.rounding * UNIT_ROUNDOFF[case.dtype] * scale + u * summed / 2
    slope = np.minimum(STEEPEST, np.abs(gelu_slope(z)) + BEND * off)
    arriving = (slope * summed + OWN_STEPS * np.abs(z)) / accuracy.angle
    return ErrorTerms(scale, np.divide(arriving, scale, out=np.zeros(scale.shape), where=scale > 0))


def drawn(shape: tuple[int, int, int], n: int, leading: tuple[int, ...] = ()) -> ArgumentDict:
    """Make inputs of wav2vec 2.0's call for weights of this shape."""
    return {
        "x": 2 * fine((*leading, n, shape[0])),
        "weight_v": fine(shape, 5) + OFF_ZERO,
        "weight_g": 1 + fine((shape[-1],), 9),
        "bias": fine((shape[0],), 3),
        "groups": shape[0] // shape[1],
    }


def direction_only(trial: Trial) -> None:
    """Check that doubling the directions does not change the result."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    longer = trial.answer(**(chosen | {"weight_v": 2 * chosen["weight_v"]}))
    trial.assert_zero(longer - answer, "doubling weight_v changes the result")


def translation(trial: Trial) -> None:
    """Check that moving the frames by one moves the result, except at the ends."""
    chosen = arguments(trial)
    x, kernel = chosen["x"], chosen["weight_v"].shape[-1]
    answer = trial.answer(**chosen)
    moved = trial.answer(**(chosen | {"x": np.roll(x, 1, axis=-2)}))
    inside = np.arange(kernel // 2, x.shape[-2] - (kernel - kernel // 2))
    trial.assert_zero(
        moved[..., inside + 1, :] - answer[..., inside, :],
        "away from the ends the result does not move with the frames",
    )


def groups_apart(trial: Trial) -> None:
    """Check that changing a group of channels does not affect other groups."""
    chosen = arguments(trial)
    dim, width = chosen["weight_v"].shape[:2]
    group = trial.pick.integer(0, dim // width - 1)
    x = chosen["x"].copy()
    x[..., group * width : (group + 1) * width] += 1
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    others = np.arange(dim) // width != group
    trial.assert_zero(
        (after - before)[..., others],
        f"the channels of group {group} act on other groups",
    )


def residual_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the encoding without the frames."""
    yield Prediction("matches the encoding without the frames", gelu(of_directions(case)))


def activation_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the convolution added without a GELU."""
    words = "matches the convolution added without a GELU"
    yield Prediction(words, case.arguments["x"] + of_directions(case))


def padded_before(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a causal convolution."""
    z = argument(case, per_tap(case), case.arguments["weight_v"].shape[-1] - 1)
    yield Prediction(
        "matches a convolution padded at the start alone", case.arguments["x"] + gelu(z)
    )


def weighted_by(case: Case, w: Floats) -> Floats:
    """Return the result for other weights."""
    return np.asarray(case.arguments["x"] + gelu(argument(case, w)))


def taps_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the taps in reverse order."""
    w = per_tap(case)[..., ::-1]
    yield Prediction("matches taps in reverse order", weighted_by(case, w))


def norm_axis(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict norms over other axes."""
    v, g = case.arguments["weight_v"], case.arguments["weight_g"]
    for words, axes in (
        ("per output channel", (1, 2)),
        ("per input channel", (0, 2)),
        ("over all weights", (0, 1, 2)),
        ("per output channel and tap", (1,)),
    ):
        w = g * v / np.sqrt((v * v).sum(axis=axes, keepdims=True))
        yield Prediction(f"matches a norm {words}", weighted_by(case, w))
        averaged = weighted_by(case, w / g * g.mean())
        yield Prediction(f"matches a norm {words}, and the mean of weight_g", averaged)


def norm_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict weights without a norm."""
    v, g = case.arguments["weight_v"], case.arguments["weight_g"]
    yield Prediction(
        "matches weight_v times weight_g, not divided by a norm", weighted_by(case, g * v)
    )
    yield Prediction("matches weight_v as it is", weighted_by(case, v))


def groups_interleaved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict groups of every ``groups``-th channel, of inputs only or of outputs as well."""
    x, groups = case.arguments["x"], case.arguments["groups"]
    for every in (groups, x.shape[-1] // groups):
        dealt = np.arange(x.shape[-1]).reshape(-1, every).T.ravel()
        z = convolved(x[..., dealt], per_tap(case), groups)
        text = f"matches groups of every {every}th channel"
        yield Prediction(f"{text} on reading", x + gelu(z + case.arguments["bias"]))
        back = np.empty_like(z)
        back[..., dealt] = z
        yield Prediction(text, x + gelu(back + case.arguments["bias"]))


# HuBERT's batch normalisation.


def spread(case: Case, epsilon: float = EPSILON) -> Floats:
    """Compute the standard deviation of each channel, with ``epsilon`` added to the variance."""
    return np.asarray(np.sqrt(case.arguments["variance"] + epsilon))


def normalised(case: Case, x: Floats, deviation: Floats) -> Floats:
    """Normalise frames for the convolution."""
    values = case.arguments
    return np.asarray(values["gain"] * (x - values["mean"]) / deviation + values["shift"])


def after_norm(case: Case, rows: Floats, before: int | None = None) -> Floats:
    """Compute the input of the GELU for these normalised frames."""
    values = case.arguments
    sums = convolved(rows, values["weight"], values["groups"], before)
    return np.asarray(sums + values["bias"])


def of_normalised(case: Case, before: int | None = None) -> Floats:
    """Compute the input of the GELU for the frames with the right normalisation."""
    return after_norm(case, normalised(case, case.arguments["x"], spread(case)), before)


def hubert_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all terms as scale, normalised ones times 1.5.

    The convolution rounds each term once more than it has terms, the norm 7 times at most.
    """
    values = case.arguments
    ratio = np.abs(values["gain"]) / spread(case)
    read = ratio * (np.abs(values["x"]) + np.abs(values["mean"])) + np.abs(values["shift"])
    terms = convolved(read, np.abs(values["weight"]), values["groups"])
    _outputs, width, kernel = values["weight"].shape
    bias = np.abs(values["bias"])
    summed = (width * kernel + 8) * (terms + bias)
    return after_gelu(case, of_normalised(case), np.abs(values["x"]) + bias + 1.5 * terms, summed)


def hubert_drawn(
    shape: tuple[int, int, int], n: int, leading: tuple[int, ...] = ()
) -> ArgumentDict:
    """Make inputs of HuBERT's call for weights of this shape."""
    channel = (shape[0],)
    return {
        "x": 2 * fine((*leading, n, shape[0])),
        "weight": fine(shape, 5),
        "bias": fine(channel, 3),
        "mean": fine(channel, 7) + 0.5,
        "variance": np.abs(fine(channel, 11)) / 4,
        "gain": 1 + fine(channel, 9) / 2,
        "shift": fine(channel, 13) + 0.25,
        "groups": shape[0] // shape[1],
    }


def hubert_moved(trial: Trial) -> None:
    """Check that adding 1 to frames and mean adds 1 to the result."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    moved = trial.answer(**(chosen | {"x": chosen["x"] + 1, "mean": chosen["mean"] + 1}))
    by = moved.case.arguments["x"] - answer.case.arguments["x"]
    same = moved.case.arguments["mean"] - answer.case.arguments["mean"]
    if np.all(by == 1) and np.all(same == 1):
        trial.assert_zero(
            moved - answer - Exact(by), "moving frames and mean by 1 does not move the result by 1"
        )


def hubert_model(words: str, z: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts the frames plus the GELU of another input."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, case.arguments["x"] + gelu(z(case)))

    return models


def of_the_batch(case: Case) -> Floats:
    """Compute the input of the GELU with the statistics of this batch of frames."""
    values = case.arguments
    x = values["x"]
    over = tuple(range(x.ndim - 1))
    rows = values["gain"] * (x - x.mean(axis=over)) / np.sqrt(x.var(axis=over) + EPSILON)
    return after_norm(case, rows + values["shift"])


def padded_first(case: Case) -> Floats:
    """Compute the input of the GELU with the zeros beyond the ends normalised as well."""
    values = case.arguments
    kernel, n = values["weight"].shape[-1], values["x"].shape[-2]
    ends = [(0, 0)] * (values["x"].ndim - 2) + [(kernel, kernel), (0, 0)]
    rows = normalised(case, np.pad(values["x"], ends), spread(case))
    return after_norm(case, rows)[..., kernel : kernel + n, :]


def hubert_residual_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the encoding without the frames, or added to the normalised frames."""
    z = gelu(of_normalised(case))
    yield Prediction("matches the encoding without the frames", z)
    rows = normalised(case, case.arguments["x"], spread(case))
    yield Prediction("matches the encoding added to the normalised frames", rows + z)


def hubert_epsilon(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another epsilon than 1e-5, 1e-5 added outside the root, or no epsilon."""
    x, root = case.arguments["x"], np.sqrt(case.arguments["variance"])
    choices = [
        (f"{small:g} in place of 1e-5", spread(case, small)) for small in (1e-12, 1e-6, 1e-3)
    ] + [("1e-5 added to the root, not under it", root + EPSILON)]
    if root.all():
        choices.append(("no 1e-5", root))
    for words, deviation in choices:
        rows = normalised(case, x, deviation)
        yield Prediction(f"matches {words}", x + gelu(after_norm(case, rows)))


# The stack of data2vec.


def layers_of(case: Case) -> Iterator[tuple[Floats, Floats]]:
    """Yield the weight and the bias of each layer."""
    return zip(case.arguments["weight"], case.arguments["bias"], strict=True)


def heard(
    case: Case,
    *,
    layers: Iterable[tuple[Floats, Floats]] | None = None,
    x: Floats | None = None,
    before: int | None = None,
    norm: Step = layer_norm,
    activation: Step = gelu,
    residual: bool = False,
) -> Floats:
    """Return the output of the last layer.

    With ``residual`` each layer adds its input.
    """
    rows = case.arguments["x"] if x is None else x
    for weight, bias in layers_of(case) if layers is None else layers:
        z = convolved(rows, weight, case.arguments["groups"], before) + bias
        rows = activation(norm(z)) + (rows if residual else 0)
    return np.asarray(rows)


def stacked(case: Case, before: int | None = None, **changes: Any) -> Floats:
    """Return the sum of the frames and the output of the last layer."""
    return np.asarray(case.arguments["x"] + heard(case, before=before, **changes))


def data2vec_terms(case: Case) -> ErrorTerms:
    """Return error terms for the roundings in every layer, as later layers propagate them."""
    x, accuracy = case.arguments["x"], case.scheme.accuracy
    sequences = x.reshape(-1, *x.shape[-2:])
    step = max(1, DERIVATIVES // sequences[0].size ** 2)
    starts = range(0, len(sequences), step)
    pieces = [passed_on(case, sequences[start : start + step]) for start in starts]
    rounded, summed = (np.concatenate(part).reshape(x.shape) for part in zip(*pieces, strict=True))
    scale = rounded / accuracy.rounding
    number = np.divide(summed / accuracy.angle, scale, out=np.zeros(x.shape), where=scale > 0)
    return ErrorTerms(scale, number)


def passed_on(case: Case, x: Floats) -> tuple[Floats, Floats]:
    """Return the magnitudes that layers round, and those that they sum, propagated to the result.

    ``x`` contains some of the sequences. Bounds propagated layer by layer would use the magnitude
    of every weight and grow twentyfold per layer. Therefore the derivatives of the result are
    multiplied first, from the last layer back.
    """
    groups, dim = case.arguments["groups"], x.shape[-1]
    rows, steps = x, []
    for weight, bias in layers_of(case):
        z = convolved(rows, weight, groups) + bias
        steps.append((rows, weight, bias, z))
        rows = gelu(layer_norm(z))
    rounded, summed = np.abs(x) + np.abs(rows), np.zeros_like(x)
    # Derivatives of each number of the result by each number of its sequence.
    slope: Floats = np.eye(x[0].size).reshape(-1, *x.shape[1:])

    def acting(magnitude: Floats) -> Floats:
        return np.asarray((np.abs(slope) * for_each(magnitude)).sum(axis=(-2, -1)).reshape(x.shape))

    for rows, weight, bias, z in reversed(steps):
        deviation, y = np.sqrt(z.var(axis=-1, keepdims=True) + EPSILON), layer_norm(z)
        rounded += acting(2 * np.abs(gelu(y)) + np.abs(y) / 2)
        slope = slope * for_each(gelu_slope(y))
        mean = np.abs(z.mean(axis=-1, keepdims=True)) / deviation
        rounded += acting(mean + 4 * np.abs(y))
        # The mean of squares allows for variances computed as the difference of two means.
        squares = np.abs(y) * (z * z).mean(axis=-1, keepdims=True) / deviation**2
        magnitudes = np.abs(z).mean(axis=-1, keepdims=True) / deviation
        summed += acting((dim + 2) * (magnitudes + squares))
        along = (slope * for_each(y)).mean(axis=-1, keepdims=True)
        slope = centred(slope - along * for_each(y), (-1,)) / for_each(deviation)
        rounded += acting(2 * np.abs(z))
        terms = convolved(np.abs(rows), np.abs(weight), groups) + np.abs(bias)
        summed += acting((weight[0].size + 1) * terms)
        slope = convolved_back(slope, weight, groups)
    return rounded, summed


def for_each(magnitude: Floats) -> Floats:
    """Broadcast the values of each sequence over the elements of its result."""
    return magnitude[:, np.newaxis]


def data2vec_drawn(
    shape: tuple[int, int, int], n: int, leading: tuple[int, ...] = (), layers: int = 2
) -> ArgumentDict:
    """Make inputs of data2vec's call for weights of this shape in every layer."""
    return {
        "x": 2 * fine((*leading, n, shape[0])),
        "weight": fine((layers, *shape), 5),
        "bias": fine((layers, shape[0]), 3),
        "groups": shape[0] // shape[1],
    }


def bias_moved(trial: Trial) -> None:
    """Check that adding one number to all biases of a layer does not change the result."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    by = 1 + np.arange(len(chosen["bias"]))[:, None] / 2
    moved = trial.answer(**(chosen | {"bias": chosen["bias"] + by}))
    change = moved.case.arguments["bias"] - answer.case.arguments["bias"]
    if np.all(change == by):
        trial.assert_zero(
            moved - answer, "one number more in all biases of a layer changes the result"
        )


def data2vec_model(words: str, **changes: Any) -> DeviationModel:
    """Make a model that predicts the frames plus a stack with ``changes``."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, stacked(case, **changes))

    return models


def data2vec_residual(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the stack without the frames, or frames added more than once."""
    yield Prediction("matches the stack without the frames", heard(case))
    output = heard(case, residual=True)
    yield Prediction("matches layers that each add what they read", output)
    yield Prediction(
        "matches layers that each add what they read, and the frames", case.arguments["x"] + output
    )


def data2vec_layers(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict layers left out, in another order, or with shared weights."""
    every = list(layers_of(case))
    for words, chosen in (
        ("matches the first layer alone", every[:1]),
        ("matches the last layer left out", every[:-1]),
        ("matches the last layer alone", every[-1:]),
        ("matches the layers in reverse order", every[::-1]),
        ("matches the first layer's weights in every layer", every[:1] * len(every)),
    ):
        if len(every) > 1:
            yield Prediction(words, stacked(case, layers=chosen))


def data2vec_norm_axis(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict means and variances over other axes than the channels of a frame."""
    shape = case.arguments["x"].shape
    groups = case.arguments["groups"]
    for words, split, over in (
        ("over the frames of a channel", shape, (-2,)),
        ("over all frames and channels", shape, (-2, -1)),
        ("over the channels of a group", (*shape[:-1], groups, shape[-1] // groups), (-1,)),
    ):

        def norm(z: Floats, split: tuple[int, ...] = split, over: tuple[int, ...] = over) -> Floats:
            z = z.reshape(split)
            deviation = np.sqrt(z.var(axis=over, keepdims=True) + EPSILON)
            return np.asarray((centred(z, over) / deviation).reshape(shape))

        yield Prediction(f"matches a norm {words}", stacked(case, norm=norm))


def data2vec_epsilon(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another epsilon than 1e-5, or 1e-5 added outside the root."""
    for small in (1e-12, 1e-6, 1e-3):
        words = f"matches {small:g} in place of 1e-5"
        yield Prediction(words, stacked(case, norm=partial(layer_norm, epsilon=small)))

    def outside(z: Floats) -> Floats:
        return np.asarray(centred(z, (-1,)) / (z.std(axis=-1, keepdims=True) + EPSILON))

    yield Prediction("matches 1e-5 added to the root, not under it", stacked(case, norm=outside))


def data2vec_variance(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict variances with the divisor dim - 1."""
    dim = case.arguments["x"].shape[-1]
    if dim > 1:

        def norm(z: Floats) -> Floats:
            variance = z.var(axis=-1, ddof=1, keepdims=True)
            return np.asarray(centred(z, (-1,)) / np.sqrt(variance + EPSILON))

        yield Prediction("matches a variance divided by dim - 1", stacked(case, norm=norm))


def data2vec_padded_once(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict zeros beyond the ends for the first layer only."""
    x, weight = case.arguments["x"], case.arguments["weight"]
    n, far = x.shape[-2], len(weight) * weight.shape[-1]
    if len(weight) > 1:
        rows = heard(case, x=np.pad(x, [(0, 0)] * (x.ndim - 2) + [(far, far), (0, 0)]))
        yield Prediction(
            "matches zeros beyond the ends for the first layer alone",
            x + rows[..., far : far + n, :],
        )


# Shared by all forms.


@dataclass(frozen=True)
class Form:
    """The functions and argument names of one of the calls."""

    drawn: Callable[..., ArgumentDict]
    answer: Callable[..., Floats]
    """A function that computes the call's result, also with another padding or activation."""
    taps: str
    """Name of the argument whose last axis is the taps."""
    nothing: tuple[str, str]
    """Names of the arguments that make the encoding zero if they are zero."""


def one_layer(z: Callable[..., Floats]) -> Callable[..., Floats]:
    """Make a function that returns the frames plus the GELU of ``z``."""

    def answer(case: Case, before: int | None = None, activation: Step = gelu) -> Floats:
        return np.asarray(case.arguments["x"] + activation(z(case, before)))

    return answer


FORMS = {
    "conv_wav2vec2": Form(drawn, one_layer(of_directions), "weight_v", ("weight_g", "bias")),
    "conv_hubert": Form(hubert_drawn, one_layer(of_normalised), "weight", ("weight", "bias")),
    "conv_data2vec": Form(data2vec_drawn, stacked, "weight", ("weight", "bias")),
}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two sequences, some shorter than the kernel."""
    groups = trial.choose("groups", (2, 1, 3, 4))
    dim = trial.choose("dim", (2 * groups, groups, 3 * groups))
    kernel = trial.choose("kernel", (4, 1, 2, 3, 5, 8))
    n = trial.choose("n", (5, 1, 2, 9, 12))
    call = trial.subject.call
    more = {"layers": trial.choose("layers", (2, 1, 3, 5))} if "layers" in call.parameters else {}
    shape = (dim, dim // groups, kernel)
    return FORMS[call.name].drawn(shape, n, (2,), **more) | {"groups": groups}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one frame and many, one channel and many, small kernels and large ones."""
    for shape, n in (
        ((1, 1, 1), 1),
        ((2, 1, 3), 300),
        ((2, 2, 128), 5),
        ((1, 1, 129), 140),
        ((33, 3, 2), 3),
        ((64, 4, 2), 2),
        ((130, 130, 2), 2),
    ):
        yield FORMS[case.call.name].drawn(shape, n)


def nothing_to_add(trial: Trial) -> None:
    """Check that x is returned unchanged if weights or gains, and the bias, are zero."""
    chosen = arguments(trial)
    names = FORMS[trial.subject.call.name].nothing
    answer = trial.answer(**(chosen | {name: 0 * chosen[name] for name in names}))
    wrong = answer.values != answer.case.arguments["x"]
    trial.assert_none(
        answer, wrong, f"with {names[0]} and {names[1]} of zero x is not returned as it is"
    )


def reach(trial: Trial) -> None:
    """Check that changing a frame does not affect rows beyond the reach of the taps."""
    chosen = arguments(trial)
    n, kernel = chosen["x"].shape[-2], chosen[FORMS[trial.subject.call.name].taps].shape[-1]
    frame = trial.pick.integer(0, n - 1)
    x = chosen["x"].copy()
    x[..., frame, :] += 1
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    row = np.arange(n)
    layers = chosen["weight"].shape[0] if "layers" in trial.subject.call.parameters else 1
    ahead, behind = layers * (kernel // 2), layers * (kernel - 1 - kernel // 2)
    far = (row < frame - behind) | (row > frame + ahead)
    trial.assert_zero(
        (after - before)[..., far, :],
        f"frame {frame} acts on rows beyond the reach of {kernel} taps",
    )


def gelu_tanh(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict GELU approximated by the tanh formula."""
    answer = FORMS[case.call.name].answer(case, activation=tanh_formula)
    yield Prediction("matches GELU by the tanh formula", answer)


def first_frame_dropped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a convolution in which every row begins one frame later."""
    form = FORMS[case.call.name]
    kernel = case.arguments[form.taps].shape[-1]
    before = kernel // 2 - 1
    if before >= 0:
        words = "matches the first frame dropped, not the last"
        if kernel % 2:
            words = "matches frames that come one earlier"
        yield Prediction(words, form.answer(case, before))


KNOWLEDGE = {
    "conv_wav2vec2": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "no-gain": nothing_to_add,
            "direction-only": direction_only,
            "translation": translation,
            "reach": reach,
            "groups-apart": groups_apart,
        },
        deviations={
            "residual-missing": residual_missing,
            "gelu-tanh": gelu_tanh,
            "activation-missing": activation_missing,
            "first-frame-dropped": first_frame_dropped,
            "padded-before": padded_before,
            "taps-reversed": taps_reversed,
            "norm-axis": norm_axis,
            "norm-missing": norm_missing,
            "groups-interleaved": groups_interleaved,
        },
    ),
    "conv_hubert": CallKnowledge(
        error_terms=hubert_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "hubert-no-weights": nothing_to_add,
            "hubert-moved": hubert_moved,
            "hubert-reach": reach,
        },
        deviations={
            "hubert-residual-missing": hubert_residual_missing,
            "hubert-norm-missing": hubert_model(
                "matches frames that are not normalised",
                lambda case: after_norm(case, case.arguments["x"]),
            ),
            "hubert-batch-statistics": hubert_model(
                "matches mean and variance of these frames, not the kept ones", of_the_batch
            ),
            "hubert-ends-normalised": hubert_model(
                "matches zeros at the ends that are normalised, too", padded_first
            ),
            "hubert-epsilon": hubert_epsilon,
            "hubert-gelu-tanh": gelu_tanh,
            "hubert-first-frame-dropped": first_frame_dropped,
        },
        readings=(
            hubert_model(
                "matches a norm of what the convolution gives, not of what it reads",
                lambda case: normalised(case, after_norm(case, case.arguments["x"]), spread(case)),
            ),
        ),
    ),
    "conv_data2vec": CallKnowledge(
        error_terms=data2vec_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "data2vec-no-weights": nothing_to_add,
            "data2vec-bias-moved": bias_moved,
            "data2vec-reach": reach,
        },
        deviations={
            "data2vec-residual": data2vec_residual,
            "data2vec-layers": data2vec_layers,
            "data2vec-norm-missing": data2vec_model(
                "matches layers without a norm", norm=np.asarray
            ),
            "data2vec-norm-last": data2vec_model(
                "matches a norm of what the GELU returns", norm=gelu, activation=layer_norm
            ),
            "data2vec-norm-axis": data2vec_norm_axis,
            "data2vec-variance": data2vec_variance,
            "data2vec-epsilon": data2vec_epsilon,
            "data2vec-padded-once": data2vec_padded_once,
            "data2vec-gelu-tanh": gelu_tanh,
            "data2vec-first-frame-dropped": first_frame_dropped,
        },
    ),
}
