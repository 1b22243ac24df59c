"""How small a mistake the kit still sees, call by call.

    python -m posenc_lab.sensitivity [--scheme ID] [--write FILE]

The reference is the implementation; one thing is changed by a little before or after it computes:
the base, one frequency (or one head's slope), all values, the positions. The smallest change that
some check of the call detects is found by bisection over the powers of two. Everything is computed
in float64 and rounded to the dtype in the end, so that nothing but the change is seen.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from posenc_conformance import claims
from posenc_conformance.judge.arrays import DTYPES, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Call, Combination
from posenc_lab.first_failure import first_failure, without_diagnosis
from posenc_lab.results import table, write

KINDS = ("rotary", "encode", "frequencies", "bias", "slopes")
DTYPES_ASKED = ("float32", "bfloat16")
CHANGES = ("base", "first", "middle", "last", "scale", "offset")
FINEST = 40
"""Changes are 2**0 to 2**-40."""

Given = dict[str, Any]
Change = Callable[["Asked", Given, float], Floats]
"""Takes the arguments by name and the size of the change; gives the result in float64."""


class Inapplicable(Exception):
    """A change makes no sense for a call."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A call under one combination, answered by the reference."""

    scheme: KnownScheme
    call: Call
    combination: Combination

    def true(self, given: Given) -> Floats:
        """The reference's result in float64, from arguments of any dtype."""
        wide = {name: _wide(value) for name, value in given.items()}
        if self.call.dtype == "keyword":
            wide["dtype"] = np.float64
        return np.asarray(getattr(posenc, self.call.name)(**wide), dtype=np.float64)


def _wide(value: Any) -> Any:
    real = isinstance(value, np.ndarray) and value.dtype.kind in "fV"
    return value.astype(np.float64) if real else value


# Changes.


def base(asked: Asked, given: Given, size: float) -> Floats:
    """The base is larger by a part."""
    if "base" not in given:
        raise Inapplicable
    return asked.true(given | {"base": given["base"] * (1 + size)})


def scale(asked: Asked, given: Given, size: float) -> Floats:
    """All values are larger by a part."""
    return asked.true(given) * (1 + size)


def offset(asked: Asked, given: Given, size: float) -> Floats:
    """All positions are larger by a part of 1."""
    if asked.call.kind == "rotary":
        pairs = probed(asked, given)
        return turned(asked.true(given), pairs, size * pairs.frequencies)
    return asked.true(given | {"positions": _real_positions(given) + size})


def one(place: Callable[[int], int]) -> Change:
    """One frequency, or one head's slope, is larger by a part."""

    def change(asked: Asked, given: Given, size: float) -> Floats:
        if asked.call.kind == "rotary":
            pairs = probed(asked, given)
            turns = np.multiply.outer(_real_positions(given), size * pairs.frequencies)
            turns *= np.arange(len(pairs.frequencies)) == place(len(pairs.frequencies))
            return turned(asked.true(given), pairs, turns)
        result = asked.true(given)
        if asked.call.kind == "encode":
            channels = channels_of_pairs(asked, given)
            some = channels == place(int(channels.max()) + 1)
            moved = asked.true(given | {"positions": _real_positions(given) * (1 + size)})
            return np.where(some, moved, result)
        result[place(len(result))] *= 1 + size
        return result

    return change


WAYS: Mapping[str, Change] = {
    "base": base,
    "first": one(lambda count: 0),
    "middle": one(lambda count: count // 2),
    "last": one(lambda count: count - 1),
    "scale": scale,
    "offset": offset,
}


# What a rotary call does to its channels, asked of the call itself.


@dataclass(frozen=True)
class Pairs:
    """Where each pair that turns is written to, and its radians per position."""

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    frequencies: Floats


def probed(asked: Asked, given: Given) -> Pairs:
    """The pairs of a call, from what it makes of unit vectors at positions 0 and 1."""
    if not _rows_have_positions(given):
        raise Inapplicable
    largest = int(np.max(given["positions"], initial=1))  # what turns may depend on it
    rest = {name: value for name, value in given.items() if name not in ("x", "positions")}
    shape = given["x"].shape[-1], largest
    if all(np.ndim(value) == 0 for value in rest.values()):
        return _keep(asked, shape, tuple(sorted(rest.items())))
    return _probed(asked, shape, rest)


@lru_cache(maxsize=1024)
def _keep(asked: Asked, shape: tuple[int, int], rest: tuple[tuple[str, Any], ...]) -> Pairs:
    return _probed(asked, shape, dict(rest))


def _probed(asked: Asked, shape: tuple[int, int], rest: Given) -> Pairs:
    dim, largest = shape
    units = np.repeat(np.eye(dim)[:, None], 3, axis=1)
    seen = asked.true({"x": units, "positions": np.array([0, 1, largest]), **rest})
    written = np.abs(seen[:, 0]).argmax(axis=1)  # where each channel goes if nothing turns
    first, second, frequencies = [], [], []
    for channel in range(dim):
        row = seen[channel, 1].copy()
        along, row[written[channel]] = row[written[channel]], 0.0
        other = int(np.abs(row).argmax())
        if row[other] > 0:  # towards the second of the pair; from there to the first it is below
            first.append(written[channel])
            second.append(other)
            frequencies.append(np.arctan2(row[other], along))
    return Pairs(np.array(first, int), np.array(second, int), np.array(frequencies))


def turned(result: Floats, pairs: Pairs, angles: Floats) -> Floats:
    """A result whose pairs turn on, by an angle for each row and pair."""
    a, b = result[..., pairs.first], result[..., pairs.second]
    further = result.copy()
    further[..., pairs.first] = a * np.cos(angles) - b * np.sin(angles)
    further[..., pairs.second] = a * np.sin(angles) + b * np.cos(angles)
    return further


def _rows_have_positions(given: Given) -> bool:
    return getattr(given.get("positions"), "ndim", 0) == 1


def channels_of_pairs(asked: Asked, given: Given) -> npt.NDArray[np.int64]:
    """Number of each channel's pair, the fastest first; -1 for a channel that does not turn."""
    if not _rows_have_positions(given):
        raise Inapplicable
    at_1 = {name: given[name] for name in given if name in asked.call.arguments} | {
        name: given[name] for name in asked.call.parameters if name in given
    }
    case = Case(
        asked.scheme,
        asked.call,
        asked.combination.conventions,
        at_1 | {"positions": np.array([1])},
        "float64",
    )
    terms = case.knowledge.error_terms(case)
    growth = np.broadcast_to(terms.angle, case.shape)[0]
    speeds = np.unique(growth[growth > 0])[::-1]
    if not len(speeds):
        raise Inapplicable
    return np.array([int(np.argmax(speeds == g)) if g > 0 else -1 for g in growth])


def _real_positions(given: Given) -> Floats:
    if "positions" not in given:
        raise Inapplicable
    return np.asarray(given["positions"], dtype=np.float64)


# Finding the smallest change that is detected.


def adapter(asked: Asked, dtype: str, change: Change, size: float) -> object:
    """The reference with a change, claiming one combination in one dtype."""

    def method(self: object, *arguments: Any, **keywords: Any) -> Any:
        kind = DTYPES[keywords.pop("dtype", dtype)]
        given = dict(zip(asked.call.arguments, arguments, strict=True)) | keywords
        return change(asked, given, size).astype(kind)

    claim = claims(asked.combination.name, dtype=dtype)
    return type("Changed", (), {asked.call.name: claim(method)})()


def smallest(asked: Asked, dtype: str, change: Change) -> int | None:
    """The largest k so that a change by 2**-k is detected; -1 if not even one by 1 is.

    None where the change makes no sense.
    """
    if not _applies(asked, dtype, change):
        return None
    low, high = -1, FINEST + 1  # seen, not seen
    while high - low > 1:
        middle = (low + high) // 2
        if _detected(asked, dtype, change, 2.0**-middle):
            low = middle
        else:
            high = middle
    return low


def _detected(asked: Asked, dtype: str, change: Change, size: float) -> bool:
    found = first_failure(adapter(asked, dtype, change, size), [asked.scheme], silence_fails=False)
    return found is not None


def _applies(asked: Asked, dtype: str, change: Change) -> bool:
    """Whether the call can be changed so, and is right if it is changed by nothing."""
    failed = first_failure(adapter(asked, dtype, change, 0.0), [asked.scheme], silence_fails=False)
    if failed is not None and not failed.raised:
        raise AssertionError(f"{asked.call.name}: no change, but {failed.text}")
    return failed is None  # else it is refused: no such argument, or positions that are not whole


def measure(scheme: KnownScheme) -> Iterator[dict[str, Any]]:
    """The smallest detected changes of every call of the five kinds, in its first combination."""
    for call in scheme.calls.values():
        if call.kind not in KINDS or call.dtype in ("integer", "boolean"):
            continue
        asked = Asked(scheme, call, next(iter(call.combinations.values())))
        for dtype in DTYPES_ASKED:
            found = {name: smallest(asked, dtype, change) for name, change in WAYS.items()}
            yield {"scheme": scheme.id, "call": call.name, "dtype": dtype, "smallest": found}


def rows(found: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    """A line per call and dtype."""
    return [
        [each["call"], each["dtype"], *(_render(each["smallest"][name]) for name in CHANGES)]
        for each in found
    ]


def _render(power: int | None) -> str:
    if power is None:
        return "-"
    return f"2^-{power}" if power >= 0 else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", help="only this scheme")
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    some = [each for each in load_all() if given.scheme in (None, each.id)]
    with np.errstate(all="ignore"), without_diagnosis():
        found = [row for scheme in some for row in measure(scheme)]
    print(table(["call", "dtype", *CHANGES], rows(found)))
    write(given.write, {"smallest power of two detected": found})


if __name__ == "__main__":
    main()
