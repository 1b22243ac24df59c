from typing import Any

import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(20)


def _layer(picture: Array, weight: Array, bias: Array) -> Array:
    height, width, dim = picture.shape
    out = posenc.conv_peg(picture.reshape(-1, dim), weight, bias, height, width)
    return np.asarray(out).reshape(picture.shape)


def moves_along() -> None:
    """If a picture moves by one patch, the interior moves along, but the edge column does not."""
    wide, weight, bias = (RANDOM.standard_normal(shape) for shape in ((6, 9, 3), (3, 3, 3), (3,)))
    first, second = (_layer(part, weight, bias) for part in (wide[:, 1:], wide[:, :-1]))
    assert np.array_equal(first[:, 1:-2], second[:, 2:-1])
    assert not np.array_equal(first[:, :1], second[:, 1:2])


def nine_six_four() -> None:
    """With equal patches, weights of 1 and no bias, the gain counts the taps inside the picture."""
    gain = _layer(np.ones((5, 7, 1)), np.ones((1, 3, 3)), np.zeros(1))[..., 0] - 1
    assert gain[0, 0] == gain[0, -1] == gain[-1, 0] == gain[-1, -1] == 4
    assert set(gain[1:-1, 0]) == set(gain[0, 1:-1]) == {6}
    assert set(gain[1:-1, 1:-1].ravel()) == {9}


def circular() -> None:
    """With circular padding, equal patches are still equal after ten layers."""
    picture = np.ones((5, 7, 1))
    weight = RANDOM.standard_normal((3, 3)) / 9
    for _ in range(10):
        gained = sum(
            weight[s + 1, t + 1] * np.roll(picture, (-s, -t), axis=(0, 1))
            for s in (-1, 0, 1)
            for t in (-1, 0, 1)
        )
        picture = picture + gained
    assert len(np.unique(picture)) == 1


def kinds_of_patches() -> tuple[str, str]:
    """The number of different values among 14 by 14 equal patches, by layer."""
    picture = np.ones((14, 14, 1))
    weight = np.random.default_rng(0).standard_normal((1, 3, 3)) / 9
    kinds: list[int] = []
    while not kinds or kinds[-1] < 196:
        picture = _layer(picture, weight, np.zeros(1))
        kinds.append(len(np.unique((picture / np.abs(picture).max()).round(12))))
    assert kinds[:-1] == [(2 * layers + 1) ** 2 for layers in range(1, len(kinds))]
    return f"After one layer {kinds[0]}:", f"it takes {len(kinds)} layers"


def parameters() -> tuple[str, str]:
    """Numbers of parameters, from the sizes."""
    return f"= {9 * 768 + 768}\\) numbers", f"= {14 * 14 * 768}\\)"
