"""A cache of true results and their error terms, limited in size.

Claims and diagnoses need the same results repeatedly.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.scheme_file.scheme import Arguments

Arrays = tuple[Array, ...]
ROOM = 8 * 2**20
"""Most bytes of all entries together."""
LARGEST_ENTRY = 2**22
"""Most bytes of a cached entry."""
LONGEST_PLAIN_KEY = 512
"""Most bytes of an array that is part of a key unhashed."""


class Truths:
    """A cache of arrays by the inputs that determine them; it drops the least recently used."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._kept: OrderedDict[Hashable, Arrays] = OrderedDict()
        self._size = 0

    def of(self, key: Hashable, find: Callable[[], Arrays]) -> Arrays:
        """Return the cached result of ``find`` under ``key``, computing it if needed.

        Do not write to the result. Nothing is cached if ``find`` raises.
        """
        if (arrays := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return arrays
        arrays = tuple(map(_read_only, find()))
        if _size(arrays) <= LARGEST_ENTRY:
            self._keep(key, arrays)
        return arrays

    def _keep(self, key: Hashable, arrays: Arrays) -> None:
        self._kept[key] = arrays
        self._size += _size(arrays)
        while self._size > self.room:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _size(oldest)


def _read_only(array: Array) -> Array:
    """Return a read-only view, since the array itself may be a caller's argument."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays)


def cache_key(arguments: Arguments) -> Hashable:
    """Turn arguments into a part of a cache key."""
    return tuple((name, _key_of_value(value)) for name, value in sorted(arguments.items()))


def _key_of_value(value: Any) -> Hashable:
    """Turn one argument into a part of a cache key.

    1, 1.0 and True differ, since some functions distinguish them.
    """
    if isinstance(value, np.ndarray):
        numbers = value.tobytes()
        few = len(numbers) <= LONGEST_PLAIN_KEY
        return value.shape, value.dtype.str, numbers if few else blake2b(numbers).digest()
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_key_of_value, value))
    return type(value), repr(value) if isinstance(value, float) else value


TRUTHS = Truths()
