"""A result in the implementation's own memory."""

from contextlib import suppress

import numpy as np

from posenc_conformance.judge.arrays import Array


class Held:
    """A result in the implementation's own memory."""

    def __init__(self, result: Array) -> None:
        self.result = result
        """The result as the call returned it; a later call may change this array."""

    def now(self) -> Array:
        """Return the current values of the result."""
        return self.result

    def write(self, values: Array | float) -> bool:
        """Write into the result, as a caller may; return False if it is read-only.

        If the result shares memory with inputs of the call, they change too.
        """
        if self.result.flags.writeable:
            self.result[...] = values
        return bool(self.result.flags.writeable)


class Spread(Held):
    """A result that leaves out axes along which it repeats, broadcast to its full shape."""

    def __init__(self, held: Held, shape: tuple[int, ...]) -> None:
        super().__init__(broadcast_result(held.result, shape))
        self._held, self._shape, self._first = held, shape, held.result.copy()

    def now(self) -> Array:
        """Return the current values of the result, broadcast."""
        return broadcast_result(self._held.now(), self._shape)

    def write(self, values: Array | float) -> bool:
        """Write a number into the result; for an array, restore the first values instead."""
        return self._held.write(self._first if isinstance(values, np.ndarray) else values)


def broadcast_result(result: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast a result that lacks axes along which it repeats, or has them with length 1.

    Leading axes of length 1 beyond those of ``shape`` are dropped first. A result that does not fit
    is returned without broadcasting.
    """
    more = result.ndim - len(shape)
    if more > 0 and result.shape[:more] == (1,) * more:
        result = result.reshape(result.shape[more:])
    with suppress(ValueError):
        return np.broadcast_to(result, shape)
    return result
