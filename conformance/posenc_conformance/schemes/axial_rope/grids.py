"""Positions of the patches and the text of a model of images."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, other_conventions
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial

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
"""Sizes of images, square and not, odd and even."""


def arguments(trial: Trial) -> dict[str, Any]:
    """A text and some images."""
    grid = str(trial.subject.combination.conventions["grid"])
    return {
        "images": np.array(trial.pick.one_of(IMAGES[grid])),
        "tokens": trial.choose("tokens", (3, 0, 1, 7, 32)),
    }


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Long texts, large images, many of them, one, none."""
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
    """Number of patches of each image."""
    counts: list[int] = case.arguments["images"].prod(axis=1).tolist()
    return counts


def shape(case: Case) -> tuple[int, int]:
    """A row for each axis, a column for each token and patch."""
    count = int(case.arguments["tokens"]) + sum(patches(case))
    return 4 if case.conventions["grid"] == "flux-2" else 3, count


def each_image(case: Case, values: Floats) -> Iterator[tuple[list[int], Floats]]:
    """Sizes of each image, and the ids of its patches."""
    first = int(case.arguments["tokens"])
    for size, count in zip(case.arguments["images"].tolist(), patches(case), strict=True):
        yield size, values[:, first : first + count]
        first += count


def rows_and_columns(trial: Trial) -> None:
    """Within an image rows and columns count on by one, row by row."""
    answer = trial.answer(**arguments(trial))
    wrong = [np.zeros(0)]
    for size, ids in each_image(answer.case, answer.values):
        steps = np.indices(size).reshape(3, -1)[1:]
        wrong.append((ids[1:3] - ids[1:3, :1] - steps).ravel())
    trial.never(answer, np.concatenate(wrong) != 0, "rows and columns do not count on by one")


def patches_apart(trial: Trial) -> None:
    """No two patches have the same ids."""
    answer = trial.answer(**arguments(trial))
    ids = answer.values[:, int(answer.case.arguments["tokens"]) :]
    same = ids.shape[1] - np.unique(ids, axis=1).shape[1]
    trial.never(answer, np.array([same]), "two patches have the same ids")


def text_apart(trial: Trial) -> None:
    """No text token has the ids of another token or of a patch."""
    answer = trial.answer(**arguments(trial))
    same = answer.values.shape[1] - np.unique(answer.values, axis=1).shape[1]
    trial.never(answer, np.array([same]), "a token of the text has the ids of another")


def centred(trial: Trial) -> None:
    """Rows and columns lie about zero: the first and the last add up to 0 or -1."""
    answer = trial.answer(**arguments(trial))
    wrong = [np.zeros(0)]
    for size, ids in each_image(answer.case, answer.values):
        odd = np.array(size[1:]) % 2
        wrong.append(ids[1:3, 0] + ids[1:3, -1] + np.where(odd, 2, 1))
    trial.never(answer, np.concatenate(wrong) != 0, "rows and columns do not lie about zero")


def truth_of_grid(case: Case) -> Floats:
    """The right ids."""
    return np.asarray(case.truth, dtype=np.float64)


def changed_patches(
    words: str, change: Callable[[Case, list[int], Floats], Floats]
) -> Callable[..., Iterator[Model]]:
    """The ids of patches made otherwise, those of the text as they should be."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        ids = truth_of_grid(case).copy()
        for size, part in each_image(case, ids):
            part[...] = change(case, size, part.copy())
        yield Model(words, ids)

    return models


def exchanged(case: Case, size: list[int], ids: Floats) -> Floats:
    """Rows for columns."""
    swapped = ids.copy()
    swapped[1:3] = ids[2:0:-1]
    return swapped


def recounted(start: Callable[[int], int]) -> Callable[[Case, list[int], Floats], Floats]:
    """Rows and columns counted from a number that follows from how many there are."""

    def change(case: Case, size: list[int], ids: Floats) -> Floats:
        moved = ids.copy()
        for axis in (1, 2):
            moved[axis] += start(size[axis]) - ids[axis, 0]
        return moved

    return change


def first_axis_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """The first axis of text or patches, or both, one early or late."""
    tokens = int(case.arguments["tokens"])
    for shift, word in ((-1, "early"), (1, "late")):
        for where, name in ((slice(tokens), "the text"), (slice(tokens, None), "the patches")):
            ids = truth_of_grid(case).copy()
            ids[0, where] += shift
            yield Model(f"matches {name} one {word} on the first axis", ids)


def images_on_one_plane(case: Case, got: Floats) -> Iterator[Model]:
    """Every image at the place of the first."""
    ids = truth_of_grid(case).copy()
    first = ids[0, int(case.arguments["tokens"])] if patches(case) else 0
    for size, part in each_image(case, ids):
        part[0] = first + np.indices(size)[0].ravel() * (case.conventions["grid"] != "flux-2")
    yield Model("matches every image at the place of the first", ids)


def text_start(words: str, start: Callable[[Case], int]) -> Callable[..., Iterator[Model]]:
    """The text of Qwen-Image's grid begun elsewhere."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        if case.conventions["grid"] == "qwen-image":
            ids = truth_of_grid(case).copy()
            tokens = int(case.arguments["tokens"])
            ids[:, :tokens] = start(case) + np.arange(tokens)
            yield Model(words, ids)

    return models


def largest_side(case: Case) -> int:
    """The largest height or width."""
    return int(case.arguments["images"][:, 1:].max(initial=0))


def text_at_zero(case: Case, got: Floats) -> Iterator[Model]:
    """All tokens of the text at 0."""
    ids = truth_of_grid(case).copy()
    ids[:, : int(case.arguments["tokens"])] = 0
    yield Model("matches all tokens of the text at 0", ids)


def grid_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """The grid of another model, if it has as many axes."""
    for model in other_conventions("grid", "matches the grid of {value}; {claimed} was claimed")(
        case, got
    ):
        if model.output.shape == got.shape:
            yield model
