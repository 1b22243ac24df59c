"""Convolutional positions of wav2vec 2.0: bounds, invariants and deviations."""

from collections.abc import Iterator
from math import erf
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model
from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
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


def arguments(trial: Trial) -> dict[str, Any]:
    """Two sequences, some shorter than the kernel."""
    groups = trial.choose("groups", (2, 1, 3, 4))
    dim = trial.choose("dim", (2 * groups, groups, 3 * groups))
    kernel = trial.choose("kernel", (4, 1, 2, 3, 5, 8))
    n = trial.choose("n", (5, 1, 2, 9, 12))
    return drawn((dim, dim // groups, kernel), n, (2,)) | {"groups": groups}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """One frame and many, one channel and many, small kernels and large ones."""
    for shape, n in (
        ((1, 1, 1), 1),
        ((2, 1, 3), 300),
        ((2, 2, 128), 5),
        ((1, 1, 129), 140),
        ((33, 3, 2), 3),
        ((64, 4, 2), 2),
    ):
        yield drawn(shape, n)


def no_gain(trial: Trial) -> None:
    """Nothing to add."""
    chosen = arguments(trial)
    zero = {name: 0 * chosen[name] for name in ("weight_g", "bias")}
    answer = trial.answer(**(chosen | zero))
    wrong = answer.values != answer.case.arguments["x"]
    trial.never(answer, wrong, "with gains and bias of zero x is not returned as it is")


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


def reach(trial: Trial) -> None:
    """One frame changed."""
    chosen = arguments(trial)
    n, kernel = chosen["x"].shape[-2], chosen["weight_v"].shape[-1]
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
    z = argument(case, per_tap(case))
    yield Model("matches the encoding without the frames", gelu(z))


def gelu_tanh(case: Case, got: Floats) -> Iterator[Model]:
    """The approximation."""
    z = argument(case, per_tap(case))
    curve = np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))
    yield Model("matches GELU by the tanh formula", case.arguments["x"] + z * (1 + curve) / 2)


def activation_missing(case: Case, got: Floats) -> Iterator[Model]:
    """The convolution as it is."""
    z = argument(case, per_tap(case))
    yield Model("matches the convolution added without a GELU", case.arguments["x"] + z)


def started_at(case: Case, before: int, explanation: str) -> Iterator[Model]:
    """Another first frame."""
    z = argument(case, per_tap(case), before)
    yield Model(explanation, case.arguments["x"] + gelu(z))


def first_frame_dropped(case: Case, got: Floats) -> Iterator[Model]:
    """One frame later."""
    before = case.arguments["weight_v"].shape[-1] // 2 - 1
    if before >= 0:
        yield from started_at(case, before, "matches the first frame dropped, not the last")


def padded_before(case: Case, got: Floats) -> Iterator[Model]:
    """A causal convolution."""
    before = case.arguments["weight_v"].shape[-1] - 1
    yield from started_at(case, before, "matches a convolution padded at the start alone")


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


ERROR_TERMS = {"conv_wav2vec2": error_terms}
ARGUMENTS = {"conv_wav2vec2": arguments}
SWEEPS = {"conv_wav2vec2": no_sweep}
SIZES = {"conv_wav2vec2": sizes}
INVARIANTS = {
    "conv_wav2vec2": {
        "no-gain": no_gain,
        "direction-only": direction_only,
        "translation": translation,
        "reach": reach,
        "groups-apart": groups_apart,
    }
}
DEVIATIONS = {
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
    }
}
