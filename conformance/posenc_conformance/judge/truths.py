"""True results, kept while there is room: claims and diagnoses ask for the same ones again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array

ROOM = 8 * 2**20
"""Bytes that are kept in all."""
LARGEST = 2**22
"""Bytes of one result that is kept."""
SHORT = 512
"""Bytes of an array that are a key as they are."""


class Truths:
    """Results by function and arguments, of which those that are needed least recently go."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._kept: OrderedDict[Hashable, Array] = OrderedDict()
        self._size = 0

    def of(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Array:
        """What a function gives, not to be written to. Nothing is kept of one that raises."""
        key = (function, *((name, _told(value)) for name, value in sorted(arguments.items())))
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return found
        result = np.asarray(function(**arguments))
        result.flags.writeable = False
        if result.nbytes <= LARGEST:
            self._keep(key, result)
        return result

    def _keep(self, key: Hashable, result: Array) -> None:
        self._kept[key] = result
        self._size += result.nbytes
        while self._size > self.room:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.nbytes


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
