"""The cache of true results: read-only, and limited in size."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.truth_cache import LARGEST_ENTRY, Truths, cache_key

Counted = Callable[[], tuple[Array, ...]]


class Finder:
    """Computes results, and records their keys."""

    def __init__(self, values: int = 1) -> None:
        self.values, self.found = values, list[Hashable]()

    def __call__(self, key: Hashable) -> Counted:
        def find() -> tuple[Array, ...]:
            self.found.append(key)
            return (np.zeros(self.values),)

        return find

    def ask(self, truths: Truths, *keys: Hashable) -> None:
        for key in keys:
            truths.of(key, self(key))


def test_cached_results_are_read_only() -> None:
    mine, truths = np.zeros(3), Truths()
    for _ in range(2):
        (cached,) = truths.of("key", lambda: (mine,))
        with pytest.raises(ValueError, match="read-only"):
            cached[0] = 1
    mine[0] = 1  # the original stays writable


def test_a_cached_result_is_computed_once() -> None:
    find, truths = Finder(), Truths()
    find.ask(truths, "a", "b", "a", "b")
    assert find.found == ["a", "b"]


def test_the_least_recently_used_result_goes_first() -> None:
    find, truths = Finder(values=10), Truths(room=240)
    find.ask(truths, "a", "b", "c", "a")  # as many as there is room for, to the byte
    assert find.found == ["a", "b", "c"]
    find.ask(truths, "d", "a", "c", "d")
    assert find.found == ["a", "b", "c", "d"]
    find.ask(truths, "b")
    assert find.found == ["a", "b", "c", "d", "b"]


def test_a_very_large_result_is_not_cached() -> None:
    small, truths = Finder(values=LARGEST_ENTRY // 8), Truths()
    small.ask(truths, "a", "a")
    assert small.found == ["a"]
    large = Finder(values=LARGEST_ENTRY // 8 + 1)
    large.ask(truths, "b", "b", "a")
    assert large.found == ["b", "b"]


def test_a_failure_is_not_cached() -> None:
    truths = Truths()

    def fail() -> tuple[Array, ...]:
        raise ValueError

    with pytest.raises(ValueError):
        truths.of("key", fail)
    assert truths.of("key", lambda: ()) == ()


def test_keys_are_alike_for_equal_arguments_only() -> None:
    values = np.arange(4.0)
    assert cache_key({"a": 1, "b": values}) == cache_key({"b": values.copy(), "a": 1})
    others: tuple[dict[str, Any], ...] = (
        {"a": 1.0, "b": values},
        {"a": True, "b": values},
        {"a": 1, "b": values.reshape(2, 2)},
        {"a": 1, "b": values.astype(np.float32)},
        {"a": 1, "b": values + 1},
        {"a": 1, "b": list(values)},
        {"a": 1},
    )
    keys = [cache_key({"a": 1, "b": values}), *map(cache_key, others)]
    assert len(set(keys)) == len(keys)
    assert cache_key({"a": 0.0}) != cache_key({"a": -0.0})


@pytest.mark.parametrize("count", [64, 65, 1000])
def test_keys_of_long_arrays_see_every_value(count: int) -> None:
    array = np.zeros(count)
    other = array.copy()
    other[-1] = 1
    assert cache_key({"a": array}) == cache_key({"a": array.copy()}) != cache_key({"a": other})
