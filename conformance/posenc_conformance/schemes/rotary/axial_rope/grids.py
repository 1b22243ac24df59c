"""Position ids of patches and text in image models."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

IMAGES: Mapping[str, tuple[tuple[tuple[int, int, int], ...], ...]] = {
    "flux": (((1, 3, 5),), ((1, 2, 3), (1, 4, 2)), ((3, 2, 3),), ((1, 1, 2), (1, 3, 3), (1, 2, 2))),
    "flux-2": (
        ((1, 3, 5),),
        ((1, 2, 3), (1, 4, 2)),
        ((1, 5, 2),),
        ((1, 1, 2), (1, 3, 3), (1, 2, 2)),
    ),
    "qwen-image": (
        ((1, 5, 3),),
        ((1, 2, 3), (1, 7, 2)),
        ((2, 3, 5),),
        ((1, 4, 4),),
        ((1, 1, 1), (1, 2, 9)),
    ),
    "z-image": (((1, 3, 5),), ((2, 5, 2),), ((1, 4, 4),)),
}
"""Frames, height and width of images by grid: square and oblong, odd and even."""


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a text and some images."""
    grid = str(trial.subject.combination.conventions["grid"])
    return {
        "images": np.array(trial.pick.one_of(IMAGES[grid])),
        "tokens": trial.choose("tokens", (3, 0, 1, 7, 32)),
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield long texts and large images; many images, one and none."""
    grid = case.conventions["grid"]
    frames = 1 if grid == "flux-2" else 3
    yield {"images": np.array([[1, 65, 48]]), "tokens": 2}
    yield {"images": np.array([[1, 48, 65]]), "tokens": 600}
    yield {"images": np.array([[frames, 20, 33]]), "tokens": 5}
    yield {"images": np.zeros((0, 3), dtype=np.int64), "tokens": 4}
    if grid != "z-image":
        yield {"images": np.array([[1, 2, 3], [1, 1, 1]] * 12), "tokens": 3}
    if grid == "qwen-image":
        yield {"images": np.array([[9, 2, 3]]), "tokens": 3}


def patches(case: Case) -> list[int]:
    """Count the patches of each image."""
    counts: list[int] = case.arguments["images"].prod(axis=1).tolist()
    return counts


def shape(case: Case) -> tuple[int, int]:
    """Return the shape of the ids: a row for each axis, a column for each token and patch."""
    count = int(case.arguments["tokens"]) + sum(patches(case))
    return 4 if case.conventions["grid"] == "flux-2" else 3, count


def each_image(case: Case, values: Floats) -> Iterator[tuple[list[int], Floats]]:
    """Yield the sizes of each image and the ids of its patches."""
    first = int(case.arguments["tokens"])
    for size, count in zip(case.arguments["images"].tolist(), patches(case), strict=True):
        yield size, values[:, first : first + count]
        first += count


def rows_and_columns(trial: Trial) -> None:
    """Check that rows and columns of an image count up by 1, row by row."""
    answer = trial.answer(**arguments(trial))
    wrong = [np.zeros(0)]
    for size, ids in each_image(answer.case, answer.values):
        steps = np.indices(size).reshape(3, -1)[1:]
        wrong.append((ids[1:3] - ids[1:3, :1] - steps).ravel())
    trial.assert_none(answer, np.concatenate(wrong) != 0, "rows and columns do not count on by one")


def patches_apart(trial: Trial) -> None:
    """Check that no two patches have the same ids."""
    answer = trial.answer(**arguments(trial))
    ids = answer.values[:, int(answer.case.arguments["tokens"]) :]
    same = ids.shape[1] - np.unique(ids, axis=1).shape[1]
    trial.assert_none(answer, np.array([same]), "two patches have the same ids")


def text_apart(trial: Trial) -> None:
    """Check that no text token has the ids of another token or of a patch."""
    answer = trial.answer(**arguments(trial))
    same = answer.values.shape[1] - np.unique(answer.values, axis=1).shape[1]
    trial.assert_none(answer, np.array([same]), "a token of the text has the ids of another")


def centred(trial: Trial) -> None:
    """Check that rows and columns are centred: the first and the last add up to -1 or -2."""
    answer = trial.answer(**arguments(trial))
    wrong = [np.zeros(0)]
    for size, ids in each_image(answer.case, answer.values):
        odd = np.array(size[1:]) % 2
        wrong.append(ids[1:3, 0] + ids[1:3, -1] + np.where(odd, 2, 1))
    trial.assert_none(answer, np.concatenate(wrong) != 0, "rows and columns do not lie about zero")


def truth_of_grid(case: Case) -> Floats:
    """Return the right ids in float64."""
    return np.asarray(case.truth, dtype=np.float64)


def changed_patches(
    words: str, change: Callable[[Case, list[int], Floats], Floats]
) -> Callable[..., Iterator[Prediction]]:
    """Make a model that predicts other ids of patches, with the right ids of the text."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        ids = truth_of_grid(case).copy()
        for size, part in each_image(case, ids):
            part[...] = change(case, size, part.copy())
        yield Prediction(words, ids)

    return models


def exchanged(case: Case, size: list[int], ids: Floats) -> Floats:
    """Exchange the rows and columns of patches."""
    swapped = ids.copy()
    swapped[1:3] = ids[2:0:-1]
    return swapped


def recounted(start: Callable[[int], int]) -> Callable[[Case, list[int], Floats], Floats]:
    """Make a change that counts rows and columns from another number.

    ``start`` computes the number from the count of rows or columns.
    """

    def change(case: Case, size: list[int], ids: Floats) -> Floats:
        moved = ids.copy()
        for axis in (1, 2):
            moved[axis] += start(size[axis]) - ids[axis, 0]
        return moved

    return change


def first_axis_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the text or the patches one early or one late on the first axis."""
    tokens = int(case.arguments["tokens"])
    for shift, word in ((-1, "early"), (1, "late")):
        for where, name in ((slice(tokens), "the text"), (slice(tokens, None), "the patches")):
            ids = truth_of_grid(case).copy()
            ids[0, where] += shift
            yield Prediction(f"matches {name} one {word} on the first axis", ids)


def images_on_one_plane(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every image at the position of the first one on the first axis."""
    ids = truth_of_grid(case).copy()
    first = ids[0, int(case.arguments["tokens"])] if patches(case) else 0
    for size, part in each_image(case, ids):
        part[0] = first + np.indices(size)[0].ravel() * (case.conventions["grid"] != "flux-2")
    yield Prediction("matches every image at the place of the first", ids)


def text_start(words: str, start: Callable[[Case], int]) -> Callable[..., Iterator[Prediction]]:
    """Make a model that predicts another start of the text in Qwen-Image's grid."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        if case.conventions["grid"] == "qwen-image":
            ids = truth_of_grid(case).copy()
            tokens = int(case.arguments["tokens"])
            ids[:, :tokens] = start(case) + np.arange(tokens)
            yield Prediction(words, ids)

    return models


def largest_side(case: Case) -> int:
    """Find the largest height or width of the images."""
    return int(case.arguments["images"][:, 1:].max(initial=0))


def text_at_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all text tokens at 0."""
    ids = truth_of_grid(case).copy()
    ids[:, : int(case.arguments["tokens"])] = 0
    yield Prediction("matches all tokens of the text at 0", ids)


def grid_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the grid of another model with as many axes."""
    for model in other_conventions("grid", "matches the grid of {value}; {claimed} was claimed")(
        case, got
    ):
        if model.output.shape == got.shape:
            yield model
