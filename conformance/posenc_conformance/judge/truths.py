"""What is true of calls, kept while there is room: claims and diagnoses ask for the same again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array

Arrays = tuple[Array, ...]
ROOM = 8 * 2**20
"""Bytes that are kept in all."""
LARGEST = 2**22
"""Bytes of one entry that is kept."""
SHORT = 512
"""Bytes of an array that are a key as they are."""


class Truths:
    """Arrays by what they follow from; those that are needed least recently go."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._kept: OrderedDict[Hashable, Arrays] = OrderedDict()
        self._size = 0

    def of(self, key: Hashable, find: Callable[[], Arrays]) -> Arrays:
        """What a function finds, not to be written to. Nothing is kept of one that raises."""
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return found
        found = tuple(map(_read_only, find()))
        if _size(found) <= LARGEST:
            self._keep(key, found)
        return found

    def _keep(self, key: Hashable, arrays: Arrays) -> None:
        self._kept[key] = arrays
        self._size += _size(arrays)
        while self._size > self.room:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _size(oldest)


def _read_only(array: Array) -> Array:
    """A view that is not written to; what it looks into may be somebody's argument."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _size(arrays: Arrays) -> int:
    return sum(each.nbytes for each in arrays)


def told(arguments: Mapping[str, Any]) -> Hashable:
    """Arguments as a part of a key."""
    return tuple((name, _told(value)) for name, value in sorted(arguments.items()))


def _told(value: Any) -> Hashable:
    """An argument as part of a key. 1, 1.0 and True are not the same to every function."""
    if isinstance(value, np.ndarray):
        numbers = value.tobytes()
        few = len(numbers) <= SHORT
        return value.shape, value.dtype.str, numbers if few else blake2b(numbers).digest()
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_told, value))
    return type(value), repr(value) if isinstance(value, float) else value


TRUTHS = Truths()
