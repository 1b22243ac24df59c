"""Small engines that go on when their context is full, without the first half of it."""

from collections.abc import Sequence

import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Engine


@right("llama")
@right("mistral")
@right("llama", "bfloat16")
class Shifts(Engine):
    """Turns the keys that stay back by as many positions as have left."""

    shifts = 640
    stays = 0
    """Tokens at the beginning that stay."""

    def forward(self, tokens: Sequence[int], cache: Cache, ends: int) -> Array:
        assert self.shifts is not None
        if len(cache.tokens) + len(tokens) > self.shifts:
            self.shift(cache, (self.shifts - self.stays) // 2)
        return super().forward(tokens, cache, ends)

    def shift(self, cache: Cache, by: int) -> None:
        """Let tokens leave the cache."""
        staying = np.r_[: self.stays, self.stays + by : len(cache.tokens)]
        cache.tokens[:] = [cache.tokens[place] for place in staying]
        for layer in cache.keys:
            keys, cache.values[layer] = (
                kept[layer][:, staying] for kept in (cache.keys, cache.values)
            )
            moved = np.where(np.arange(len(staying)) < self.stays, 0, -by)
            cache.keys[layer] = self.turned_again(keys, moved, layer)

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        """Return keys at their new positions."""
        return self.rotate(keys, by, layer)


@right("llama")
class ShiftsBehindTheFirst(Shifts):
    """Keeps the first four tokens."""

    stays = 4


@wrong("llama", "keys-not-turned-again")
@wrong("mistral", "keys-not-turned-again")
class KeysStay(Shifts):
    """Lets keys stay turned to where they were."""

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return keys


@wrong("llama", "keys-not-turned-again")
class KeysStayBehindTheFirst(ShiftsBehindTheFirst):
    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return keys


@wrong("llama", "queries-not-moved")
class QueriesCountOn(Shifts):
    """Turns keys back, and counts on as if nothing had left."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        left = (self.shifts or 0) // 2
        return np.where(found < ends - 1, found + left, found) if count == 1 else found


@wrong("llama", "queries-not-moved")
class TurnedTwice(Shifts):
    """Turns the keys that stay back twice, which is the same distance."""

    def turned_again(self, keys: Array, by: Array, layer: int) -> Array:
        return self.rotate(keys, 2 * by, layer)
