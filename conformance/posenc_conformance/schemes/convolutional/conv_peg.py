"""Conditional positions of patches: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.families.lengths import no_sweep
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict


def tokens(case: Case) -> int:
    """Count the rows before the first patch."""
    return 1 if case.conventions["class_token"] == "first" else 0


def size(case: Case) -> tuple[int, int]:
    """Return height and width of the picture."""
    return case.arguments["height"], case.arguments["width"]


def patches(case: Case) -> Floats:
    """Return the rows of patches."""
    return np.asarray(case.arguments["x"][..., tokens(case) :, :])


def convolved(rows: Floats, weight: Floats, height: int, width: int, padding: str) -> Floats:
    """Convolve patches, listed row by row, with the kernels ``weight``."""
    *leading, _, dim = rows.shape
    reach = weight.shape[-1] // 2
    picture = rows.reshape(*leading, height, width, dim)
    around = [(0, 0)] * len(leading) + [(reach, reach), (reach, reach), (0, 0)]
    padded = np.pad(picture, around, mode=padding)  # type: ignore[call-overload]  # a name of a mode
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[1:], axis=(-3, -2))
    return np.asarray((windows * weight).sum(axis=(-1, -2)).reshape(rows.shape))


def sums(case: Case, weight: Floats | None = None, padding: str = "constant") -> Floats:
    """Compute the convolution of the patches with ``weight``, or with the case's own weights."""
    kernels = case.arguments["weight"] if weight is None else weight
    return convolved(patches(case), kernels, *size(case), padding)


def with_token(case: Case, gained: Floats) -> Floats:
    """Return the whole result with ``gained`` as its patches."""
    out: Floats = case.arguments["x"].copy()
    out[..., tokens(case) :, :] = gained
    return out


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all terms as scale.

    Their number serves as the angle.
    """
    values = case.arguments
    magnitudes = np.abs(patches(case))
    terms = convolved(magnitudes, np.abs(values["weight"]), *size(case), "constant")
    scale = np.zeros(values["x"].shape)
    scale[..., tokens(case) :, :] = magnitudes + np.abs(values["bias"]) + terms
    return ErrorTerms(scale, np.asarray(float(values["weight"].shape[-1] ** 2 + 2)))


def inputs(
    height: int, width: int, dim: int, kernel: int, first: int, leading: tuple[int, ...]
) -> ArgumentDict:
    """Make a picture of this size, with ``first`` rows before it."""
    return {
        "x": fine((*leading, first + height * width, dim)),
        "weight": fine((dim, kernel, kernel), 5),
        "bias": fine((dim,), 3),
        "height": height,
        "width": width,
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two small pictures."""
    height = trial.choose("height", (3, 1, 2, 5))
    width = trial.choose("width", (4, 1, 3, 5))
    dim = trial.choose("dim", (2, 1, 3, 8))
    kernel = trial.choose("kernel", (3, 1, 5))
    first = 1 if trial.subject.combination.conventions["class_token"] == "first" else 0
    return inputs(height, width, dim, kernel, first, (2,))


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield one patch and many, rows and columns, one channel and many."""
    for height, width, dim, kernel in (
        (1, 1, 1, 3),
        (1, 300, 1, 3),
        (40, 2, 1, 3),
        (14, 14, 1, 3),
        (2, 2, 130, 3),
        (3, 2, 2, 7),
    ):
        yield inputs(height, width, dim, kernel, tokens(case), ())


def no_weights(trial: Trial) -> None:
    """Check that with weights and bias of zero x is returned unchanged."""
    chosen = arguments(trial)
    zero = {name: 0 * chosen[name] for name in ("weight", "bias")}
    answer = trial.answer(**(chosen | zero))
    wrong = answer.values != answer.case.arguments["x"]
    trial.assert_none(answer, wrong, "with weights and bias of zero x is not returned as it is")


def class_token(trial: Trial) -> None:
    """Check that the class token is returned unchanged and does not affect patches."""
    chosen = arguments(trial)
    x = chosen["x"].copy()
    x[:, 0] = 2 - x[:, 0]
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    expected = before.values.copy()
    expected[:, 0] = after.case.arguments["x"][:, 0]
    trial.assert_none(after, after.values != expected, "the class token takes part")


def picture(case: Case) -> npt.NDArray[np.int64]:
    """Return the row number of each patch: [height, width]."""
    height, width = size(case)
    return tokens(case) + np.arange(height * width).reshape(height, width)


def translation(trial: Trial) -> None:
    """Check that away from the border the result moves with the picture.

    The picture moves by one patch to the right, or down.
    """
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    case, reach = answer.case, chosen["weight"].shape[-1] // 2
    axis = trial.pick.integer(1, 2)
    x = chosen["x"].copy()
    x[:, picture(case)] = np.roll(x[:, picture(case)], 1, axis=axis)
    moved = trial.answer(**(chosen | {"x": x}))
    inner: list[slice] = [slice(reach, length - reach) for length in size(case)]
    inner[axis - 1] = slice(reach, max(size(case)[axis - 1] - reach - 1, reach))
    later = list(inner)
    later[axis - 1] = slice(inner[axis - 1].start + 1, inner[axis - 1].stop + 1)
    source, target = (slice(None), *inner), (slice(None), *later)
    trial.assert_zero(
        moved[:, picture(case)][target] - answer[:, picture(case)][source],
        "away from the border the result does not move with the picture",
    )


def border(trial: Trial) -> None:
    """Check that equal patches give the border values of a picture padded with zeros."""
    chosen = arguments(trial)
    chosen["x"] = np.broadcast_to(chosen["x"][:, :1], chosen["x"].shape).copy()
    answer = trial.answer(**chosen)
    values, (height, width) = answer.case.arguments, size(answer.case)
    reach = values["weight"].shape[-1] // 2
    output = answer[:, picture(answer.case)]
    expected = np.zeros(output.values.shape)
    x = values["x"][:, tokens(answer.case)]
    for r in range(height):
        for c in range(width):
            rows = slice(max(reach - r, 0), reach + height - r)
            columns = slice(max(reach - c, 0), reach + width - c)
            within = values["weight"][:, rows, columns].sum(axis=(1, 2))
            expected[:, r, c] = x + values["bias"] + x * within
    trial.assert_zero(
        output - expected,
        "equal patches do not show the border as zeros around the picture make them",
    )


def neighbourhood(trial: Trial) -> None:
    """Check that changing a patch does not affect patches beyond the kernel's reach."""
    chosen = arguments(trial)
    before = trial.answer(**chosen)
    height, width = size(before.case)
    row, column = trial.pick.integer(0, height - 1), trial.pick.integer(0, width - 1)
    x = chosen["x"].copy()
    x[:, tokens(before.case) + row * width + column] += 1
    after = trial.answer(**(chosen | {"x": x}))
    down, right = np.abs(np.arange(height) - row)[:, None], np.abs(np.arange(width) - column)
    far: npt.NDArray[np.bool_] = np.maximum(down, right) > chosen["weight"].shape[-1] // 2
    trial.assert_zero(
        (after - before)[:, picture(before.case)[far]],
        f"the patch at ({row}, {column}) acts on patches beyond the kernel's reach",
    )


def channels_apart(trial: Trial) -> None:
    """Check that changing a channel does not affect other channels."""
    chosen = arguments(trial)
    dim = chosen["x"].shape[-1]
    channel = trial.pick.integer(0, dim - 1)
    x = chosen["x"].copy()
    x[..., channel] += 1
    before, after = trial.answer(**chosen), trial.answer(**(chosen | {"x": x}))
    others = np.arange(dim) != channel
    trial.assert_zero((after - before)[..., others], f"channel {channel} acts on other channels")


def gained(case: Case, convolution: Floats) -> Floats:
    """Return the result for another convolution."""
    return with_token(case, patches(case) + convolution + case.arguments["bias"])


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a picture with height and width exchanged, or transposed kernels."""
    weight, (height, width) = case.arguments["weight"], size(case)
    other = convolved(patches(case), weight, width, height, "constant")
    yield Prediction("matches height and width exchanged", gained(case, other))
    turned = sums(case, np.swapaxes(weight, 1, 2))
    yield Prediction("matches kernels with rows for columns", gained(case, turned))


def circular_padding(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict padding with the opposite side or copies of the border instead of zeros."""
    for mode, words in (("wrap", "the opposite side"), ("edge", "copies of the border")):
        text = f"matches {words} around the picture in place of zeros"
        yield Prediction(text, gained(case, sums(case, padding=mode)))


def residual_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the encoding without the patches."""
    alone = sums(case) + case.arguments["bias"]
    yield Prediction("matches the convolution without the patches", with_token(case, alone))


def bias_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result without the bias."""
    yield Prediction("matches no bias", with_token(case, patches(case) + sums(case)))


def kernel_flipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict kernels rotated by half a turn."""
    turned = sums(case, case.arguments["weight"][:, ::-1, ::-1])
    yield Prediction("matches kernels turned by half a turn", gained(case, turned))


def class_token_convolved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a class token that gets the bias, or that is convolved as the first patch."""
    if not tokens(case):
        return
    x, bias = case.arguments["x"], case.arguments["bias"]
    biased = gained(case, sums(case))
    biased[..., 0, :] += bias
    yield Prediction("matches a class token with the bias added", biased)
    out = x.copy()
    first = x[..., :-1, :]
    weight = case.arguments["weight"]
    out[..., :-1, :] = first + bias + convolved(first, weight, *size(case), "constant")
    yield Prediction("matches a class token taken for the first patch", out)


KNOWLEDGE = {
    "conv_peg": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        invariants={
            "no-weights": no_weights,
            "class-token": class_token,
            "translation": translation,
            "border": border,
            "neighbourhood": neighbourhood,
            "channels-apart": channels_apart,
        },
        deviations={
            "axes-swapped": axes_swapped,
            "circular-padding": circular_padding,
            "residual-missing": residual_missing,
            "bias-missing": bias_missing,
            "kernel-flipped": kernel_flipped,
            "class-token-convolved": class_token_convolved,
        },
    ),
}
