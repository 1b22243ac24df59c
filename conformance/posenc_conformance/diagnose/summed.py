"""Possible changes of an array that is summed tile by tile, such as an upstream gradient."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from posenc_conformance.judge.arrays import Array

TILES = tuple(2**power for power in range(3, 10))
"""Sizes of tiles along an axis that are tried."""
OVERWRITTEN = "each {} overwrites the one before instead of being added"
Become = Callable[[Array], Array]
"""Takes an array and returns the changed array, with the same axes."""
Places = Callable[[int], slice]
"""Takes the length of an axis and returns the places that are read."""


def change_summed(shape: Sequence[int], axes: Sequence[str]) -> Iterator[tuple[str, Become]]:
    """Yield possible changes of an array before it is summed, with words.

    In the words, ``{}`` stands for the array's name.

    Parameters
    ----------
    shape : sequence of int
        Shape of an array, which limits the sizes of tiles; the last two axes have tiles.
    axes : sequence of str
        What its axes are called, such as "the heads axis".
    """
    for axis in range(-len(shape), 0):
        along = f"along {axes[axis]}"
        if shape[axis] > 1:
            yield f"{{}} is summed {along} into its first entry", _gathered(axis)
            yield f"only the first entry of {{}} {along} is used", _kept(lambda _: slice(1), axis)
        for size in (tile for tile in TILES if tile < shape[axis]):
            for words, places in _read(size).items():
                yield words.format("{}", along=along), _kept(places, axis)
    both = f"along {axes[-2]} and {axes[-1]}"
    yield f"{{}} is summed {both} into its first entry", _gathered(-2, -1)
    for size in (tile for tile in TILES if tile < max(shape[-2:])):
        words = f"each tile of {size} of {{}} is summed into its first entry {both}"
        yield words, _gathered(-2, -1, size=size)
        words = f"only the last tile of {{}}, of {size} or more, is used: "
        yield words + OVERWRITTEN.format("tile"), _kept(_last(size), -2, -1)


def _read(size: int) -> Mapping[str, Places]:
    """Return the possible selections of places along an axis, by blocks of ``size``, with words.

    In the words, ``{along}`` names the axis.
    """
    return {
        f"only the first {size} entries of {{}} {{along}} are used": lambda length: slice(size),
        f"the last block of {{}} {{along}}, of fewer than {size} entries, is ignored": _whole(size),
        f"only the last block of {{}} {{along}}, of {size} or more entries, is used: "
        f"{OVERWRITTEN.format('block')}": _last(size),
    }


def _whole(size: int) -> Places:
    return lambda length: slice(length // size * size or length)


def _last(size: int) -> Places:
    return lambda length: slice(max(length - 1, 0) // size * size, None)


def _kept(places: Places, *axes: int) -> Become:
    """Make a function that sets all but some places of axes to 0."""

    def keep(array: Array) -> Array:
        index = [slice(None)] * array.ndim
        for axis in axes:
            index[axis] = places(array.shape[axis])
        out = np.zeros_like(array)
        out[tuple(index)] = array[tuple(index)]
        return out

    return keep


def _gathered(*axes: int, size: int | None = None) -> Become:
    """Make a function that sums each tile, of ``size`` or a whole axis, into its first place."""

    def gather(array: Array) -> Array:
        out = array
        for axis in axes if array.size else ():
            first = np.arange(0, array.shape[axis], size or array.shape[axis])
            sums = np.moveaxis(np.add.reduceat(out, first, axis=axis), axis, 0)
            out = np.zeros_like(array)
            np.moveaxis(out, axis, 0)[first] = sums
        return out

    return gather
