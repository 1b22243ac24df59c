"""Small engines that shift a full context: they drop its first half and continue."""

from collections.abc import Sequence

import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Engine


@right("llama")
@right("mistral")
@right("llama", "bfloat16")
class Shifts(Engine):
    """Rotates the remaining keys back by the number of dropped positions."""

    shifts = 640
    stays = 0
    """Number of first tokens that are never dropped."""

    def forward(self, tokens: Sequence[int], cache: Cache, ends: int) -> Array:
        assert self.shifts is not None
        if len(cache.tokens) + len(tokens) > self.shifts:
            self.shift(cache, (self.shifts - self.stays) // 2)
        return super().forward(tokens, cache, ends)

    def shift(self, cache: Cache, by: int) -> None:
        """Drop ``by`` tokens after the first ``stays`` from the cache; move the keys after them."""
        staying = np.r_[: self.stays, self.stays + by : len(cache.tokens)]
        cache.tokens[:] = [cache.tokens[place] for place in staying]
        for layer in cache.keys:
            keys, cache.values[layer] = (
                stored[layer][:, staying] for stored in (cache.keys, cache.values)
            )
            moved = np.where(np.arange(len(staying)) < self.stays, 0, -by)
            cache.keys[layer] = self.turned_again(keys, moved, layer)

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        """Return keys rotated further by ``by`` positions."""
        return self.rotate(keys, by, layer)


@right("llama")
class ShiftsBehindTheFirst(Shifts):
    """Never drops the first four tokens."""

    stays = 4


@wrong("llama", "keys-not-turned-again")
@wrong("mistral", "keys-not-turned-again")
class KeysStay(Shifts):
    """Leaves keys rotated to their old positions."""

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return keys


@wrong("llama", "keys-not-turned-again")
class KeysStayBehindTheFirst(ShiftsBehindTheFirst):
    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return keys


@wrong("llama", "queries-not-moved")
class QueriesCountOn(Shifts):
    """Rotates keys back, but continues positions as if nothing was dropped."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        left = (self.shifts or 0) // 2
        return np.where(counted < ends - 1, counted + left, counted) if count == 1 else counted


@wrong("llama", "queries-not-moved")
class TurnedTwice(Shifts):
    """Rotates the remaining keys back twice: the same distances as in ``QueriesCountOn``."""

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return self.rotate(keys, 2 * by, layer)
