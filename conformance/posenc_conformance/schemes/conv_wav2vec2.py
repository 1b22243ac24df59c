"""Convolutional positions of wav2vec 2.0: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

OFF_ZERO = 0.01
"""Added to drawn weights, so that no tap is without direction."""

_erf = np.frompyfunc(erf, 1, 1)


def per_tap(case: Case) -> Floats:
    """Weights whose norm over a tap is its gain."""
    v = case.arguments["weight_v"]
    return np.asarray(case.arguments["weight_g"] * v / np.sqrt((v * v).sum(axis=(0, 1))))


def convolved(x: Floats, w: Floats, groups: int, before: int | None = None) -> Floats:
    """Sums over taps, row i starting at frame ``i - before``; half of the kernel if not said."""
    *leading, n, dim = x.shape
    kernel = w.shape[-1]
    start = kernel // 2 if before is None else before
    padded = np.zeros((*leading, n + kernel, dim))
    padded[..., start : start + n, :] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-2)[..., :n, :, :]
    reading = windows.reshape(*leading, n, groups, 1, w.shape[1] * kernel)
    weights = w.reshape(groups, dim // groups, -1)
    return np.asarray((reading * weights).sum(axis=-1).reshape(x.shape))


def gelu(z: Floats) -> Floats:
    """By the error function."""
    curve: Floats = _erf(z / np.sqrt(2)).astype(np.float64)
    return np.asarray(z * (1 + curve) / 2)


def argument(case: Case, w: Floats, before: int | None = None) -> Floats:
    """What the GELU is taken of, for these weights."""
    given = case.arguments
    return np.asarray(convolved(given["x"], w, given["groups"], before) + given["bias"])


def of_directions(case: Case, before: int | None = None) -> Floats:
    """What the GELU is taken of."""
    return argument(case, per_tap(case), before)


def error_terms(case: Case) -> ErrorTerms:
    """Magnitudes of all terms; their number stands in the place of an angle."""
    given = case.arguments
    terms = convolved(np.abs(given["x"]), np.abs(per_tap(case)), given["groups"])
    outputs, width, kernel = given["weight_v"].shape
    number = float(width * kernel + outputs * width)
    return ErrorTerms(np.abs(given["x"]) + np.abs(given["bias"]) + terms, np.asarray(number))


def drawn(shape: tuple[int, int, int], n: int, leading: tuple[int, ...] = ()) -> dict[str, Any]:
    """Inputs for weights of this shape."""
    return {
        "x": 2 * fine((*leading, n, shape[0])),
        "weight_v": fine(shape, 5) + OFF_ZERO,
        "weight_g": 1 + fine((shape[-1],), 9),
        "bias": fine((shape[0],), 3),
        "groups": shape[0] // shape[1],
    }


def direction_only(trial: Trial) -> None:
    """Longer directions."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    longer = trial.answer(**(chosen | {"weight_v": 2 * chosen["weight_v"]}))
    trial.zero(longer - answer, "doubling weight_v changes the result")


def translation(trial: Trial) -> None:
    """Frames moved by one, those at the ends left aside."""
    chosen = arguments(trial)
    x, kernel = chosen["x"], chosen["weight_v"].shape[-1]
    answer = trial.answer(**chosen)
    moved = trial.answer(**(chosen | {"x": np.roll(x, 1, axis=-2)}))
    inside = np.arange(kernel // 2, x.shape[-2] - (kernel - kernel // 2))
    trial.zero(
        moved[..., inside + 1, :] - answer[..., inside, :],
        "away from the ends the result does not move with the frames",
    )


def groups_apart(trial: Trial) -> None:
    """One group of channels changed."""
    chosen = arguments(trial)
    dim, width = chosen["weight_v"].shape[:2]
    group = trial.pick.integer(0, dim // width - 1)
    x = chosen["x"].copy()
    x[..., group * width : (group + 1) * width] += 1
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    others = np.arange(dim) // width != group
    trial.zero(
        (after - before)[..., others],
        f"the channels of group {group} act on other groups",
    )


def residual_missing(case: Case, got: Floats) -> Iterator[Model]:
    """The encoding alone."""
    yield Model("matches the encoding without the frames", gelu(of_directions(case)))


def activation_missing(case: Case, got: Floats) -> Iterator[Model]:
    """The convolution as it is."""
    words = "matches the convolution added without a GELU"
    yield Model(words, case.arguments["x"] + of_directions(case))


def padded_before(case: Case, got: Floats) -> Iterator[Model]:
    """A causal convolution."""
    z = argument(case, per_tap(case), case.arguments["weight_v"].shape[-1] - 1)
    yield Model("matches a convolution padded at the start alone", case.arguments["x"] + gelu(z))


def weighted_by(case: Case, w: Floats) -> Floats:
    """The result for other weights."""
    return np.asarray(case.arguments["x"] + gelu(argument(case, w)))


def taps_reversed(case: Case, got: Floats) -> Iterator[Model]:
    """Backwards."""
    w = per_tap(case)[..., ::-1]
    yield Model("matches taps in reverse order", weighted_by(case, w))


def norm_axis(case: Case, got: Floats) -> Iterator[Model]:
    """Norms over other axes."""
    v, g = case.arguments["weight_v"], case.arguments["weight_g"]
    for what, axes in (
        ("per output channel", (1, 2)),
        ("per input channel", (0, 2)),
        ("over all weights", (0, 1, 2)),
        ("per output channel and tap", (1,)),
    ):
        w = g * v / np.sqrt((v * v).sum(axis=axes, keepdims=True))
        yield Model(f"matches a norm {what}", weighted_by(case, w))


def norm_missing(case: Case, got: Floats) -> Iterator[Model]:
    """No norm at all."""
    v, g = case.arguments["weight_v"], case.arguments["weight_g"]
    yield Model("matches weight_v times weight_g, not divided by a norm", weighted_by(case, g * v))
    yield Model("matches weight_v as it is", weighted_by(case, v))


def groups_interleaved(case: Case, got: Floats) -> Iterator[Model]:
    """Channels dealt out to groups one by one, on reading, or on writing as well."""
    x, groups = case.arguments["x"], case.arguments["groups"]
    dealt = np.arange(x.shape[-1]).reshape(-1, groups).T.ravel()
    z = convolved(x[..., dealt], per_tap(case), groups)
    text = f"matches groups of every {groups}th channel"
    yield Model(f"{text} on reading", x + gelu(z + case.arguments["bias"]))
    back = np.empty_like(z)
    back[..., dealt] = z
    yield Model(text, x + gelu(back + case.arguments["bias"]))


# HuBERT's batch normalisation.

EPSILON = 1e-5


def spread(case: Case, epsilon: float = EPSILON) -> Floats:
    """Standard deviation of each channel."""
    return np.asarray(np.sqrt(case.arguments["variance"] + epsilon))


def normalised(case: Case, x: Floats, deviation: Floats) -> Floats:
    """Frames as the convolution reads them."""
    given = case.arguments
    return np.asarray(given["gain"] * (x - given["mean"]) / deviation + given["shift"])


def after_norm(case: Case, rows: Floats, before: int | None = None) -> Floats:
    """What the GELU is taken of, for these normalised frames."""
    given = case.arguments
    sums = convolved(rows, given["weight"], given["groups"], before)
    return np.asarray(sums + given["bias"])


def of_normalised(case: Case, before: int | None = None) -> Floats:
    """What the GELU is taken of."""
    return after_norm(case, normalised(case, case.arguments["x"], spread(case)), before)


def hubert_terms(case: Case) -> ErrorTerms:
    """Magnitudes of all terms, the normalised ones by one half more; their number as above."""
    given = case.arguments
    ratio = np.abs(given["gain"]) / spread(case)
    read = ratio * (np.abs(given["x"]) + np.abs(given["mean"])) + np.abs(given["shift"])
    terms = convolved(read, np.abs(given["weight"]), given["groups"])
    _outputs, width, kernel = given["weight"].shape
    scale = np.abs(given["x"]) + np.abs(given["bias"]) + 1.5 * terms
    return ErrorTerms(scale, np.asarray(float(width * kernel + 8)))


def hubert_drawn(
    shape: tuple[int, int, int], n: int, leading: tuple[int, ...] = ()
) -> dict[str, Any]:
    """Inputs for weights of this shape."""
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
    """Frames and their mean moved alike."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    moved = trial.answer(**(chosen | {"x": chosen["x"] + 1, "mean": chosen["mean"] + 1}))
    by = moved.case.arguments["x"] - answer.case.arguments["x"]
    same = moved.case.arguments["mean"] - answer.case.arguments["mean"]
    if np.all(by == 1) and np.all(same == 1):
        trial.zero(
            moved - answer - Exact(by), "moving frames and mean by 1 does not move the result by 1"
        )


def hubert_model(words: str, z: Callable[[Case], Floats]) -> DeviationModel:
    """The frames and the GELU of something else."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        yield Model(words, case.arguments["x"] + gelu(z(case)))

    return models


def of_the_batch(case: Case) -> Floats:
    """Statistics of the frames that are given."""
    given = case.arguments
    x = given["x"]
    over = tuple(range(x.ndim - 1))
    rows = given["gain"] * (x - x.mean(axis=over)) / np.sqrt(x.var(axis=over) + EPSILON)
    return after_norm(case, rows + given["shift"])


def padded_first(case: Case) -> Floats:
    """Zeros beyond the ends that are normalised as well."""
    given = case.arguments
    kernel, n = given["weight"].shape[-1], given["x"].shape[-2]
    ends = [(0, 0)] * (given["x"].ndim - 2) + [(kernel, kernel), (0, 0)]
    rows = normalised(case, np.pad(given["x"], ends), spread(case))
    return after_norm(case, rows)[..., kernel : kernel + n, :]


def hubert_residual_missing(case: Case, got: Floats) -> Iterator[Model]:
    """The encoding alone, or added to the normalised frames."""
    z = gelu(of_normalised(case))
    yield Model("matches the encoding without the frames", z)
    rows = normalised(case, case.arguments["x"], spread(case))
    yield Model("matches the encoding added to the normalised frames", rows + z)


def hubert_epsilon(case: Case, got: Floats) -> Iterator[Model]:
    """Another small number, or one elsewhere."""
    x, root = case.arguments["x"], np.sqrt(case.arguments["variance"])
    choices = [
        (f"{small:g} in place of 1e-5", spread(case, small)) for small in (1e-12, 1e-6, 1e-3)
    ] + [("1e-5 added to the root, not under it", root + EPSILON)]
    if root.all():
        choices.append(("no 1e-5", root))
    for words, deviation in choices:
        rows = normalised(case, x, deviation)
        yield Model(f"matches {words}", x + gelu(after_norm(case, rows)))


# What both forms share.


@dataclass(frozen=True)
class Form:
    """What one call of the two knows of itself."""

    drawn: Callable[..., dict[str, Any]]
    z: Callable[..., Floats]
    """What the GELU is taken of."""
    taps: str
    """The argument whose last axis are the taps."""
    nothing: tuple[str, str]
    """The arguments that are zero where there is nothing to add."""


FORMS = {
    "conv_wav2vec2": Form(drawn, of_directions, "weight_v", ("weight_g", "bias")),
    "conv_hubert": Form(hubert_drawn, of_normalised, "weight", ("weight", "bias")),
}


def arguments(trial: Trial) -> dict[str, Any]:
    """Two sequences, some shorter than the kernel."""
    groups = trial.choose("groups", (2, 1, 3, 4))
    dim = trial.choose("dim", (2 * groups, groups, 3 * groups))
    kernel = trial.choose("kernel", (4, 1, 2, 3, 5, 8))
    n = trial.choose("n", (5, 1, 2, 9, 12))
    form = FORMS[trial.subject.call.name]
    return form.drawn((dim, dim // groups, kernel), n, (2,)) | {"groups": groups}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """One frame and many, one channel and many, small kernels and large ones."""
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
    """Weights or gains of zero."""
    chosen = arguments(trial)
    names = FORMS[trial.subject.call.name].nothing
    answer = trial.answer(**(chosen | {name: 0 * chosen[name] for name in names}))
    wrong = answer.values != answer.case.arguments["x"]
    trial.never(answer, wrong, f"with {names[0]} and {names[1]} of zero x is not returned as it is")


def reach(trial: Trial) -> None:
    """One frame changed."""
    chosen = arguments(trial)
    n, kernel = chosen["x"].shape[-2], chosen[FORMS[trial.subject.call.name].taps].shape[-1]
    frame = trial.pick.integer(0, n - 1)
    x = chosen["x"].copy()
    x[..., frame, :] += 1
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    row = np.arange(n)
    far = (row < frame - (kernel - 1 - kernel // 2)) | (row > frame + kernel // 2)
    trial.zero(
        (after - before)[..., far, :],
        f"frame {frame} acts on rows beyond the reach of {kernel} taps",
    )


def gelu_tanh(case: Case, got: Floats) -> Iterator[Model]:
    """The approximation."""
    z = FORMS[case.call.name].z(case)
    curve = np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))
    yield Model("matches GELU by the tanh formula", case.arguments["x"] + z * (1 + curve) / 2)


def first_frame_dropped(case: Case, got: Floats) -> Iterator[Model]:
    """One frame later."""
    form = FORMS[case.call.name]
    kernel = case.arguments[form.taps].shape[-1]
    before = kernel // 2 - 1
    if before >= 0:
        words = "matches the first frame dropped, not the last"
        if kernel % 2:
            words = "matches frames that come one earlier"
        yield Model(words, case.arguments["x"] + gelu(form.z(case, before)))


ERROR_TERMS = {"conv_wav2vec2": error_terms, "conv_hubert": hubert_terms}
ARGUMENTS = {"conv_wav2vec2": arguments, "conv_hubert": arguments}
SWEEPS = {"conv_wav2vec2": no_sweep, "conv_hubert": no_sweep}
SIZES = {"conv_wav2vec2": sizes, "conv_hubert": sizes}
INVARIANTS = {
    "conv_wav2vec2": {
        "no-gain": nothing_to_add,
        "direction-only": direction_only,
        "translation": translation,
        "reach": reach,
        "groups-apart": groups_apart,
    },
    "conv_hubert": {
        "hubert-no-weights": nothing_to_add,
        "hubert-moved": hubert_moved,
        "hubert-reach": reach,
    },
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "conv_wav2vec2": {
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
    "conv_hubert": {
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
}
