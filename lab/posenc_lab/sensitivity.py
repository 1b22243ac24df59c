"""The smallest mistake that the kit still detects, call by call.

    python -m posenc_lab.sensitivity [--scheme ID] [--write FILE]

The implementation is the reference with one small change to its arguments or result: the base, one
frequency (or one head's slope), all values, the positions. Bisection over the powers of two finds
the smallest change that a check of the call detects. Everything is computed in float64 and rounded
to the dtype at the end, so that only the change is visible.
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
"""A function that takes a call, its arguments and the size of the change; returns float64."""


class Inapplicable(Exception):
    """A change makes no sense for a call."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A call under one combination, computed by the reference."""

    scheme: KnownScheme
    call: Call
    combination: Combination

    def true(self, given: Given) -> Floats:
        """Return the reference's result in float64, for arguments of any dtype."""
        wide = {name: _wide(value) for name, value in given.items()}
        if self.call.dtype == "keyword":
            wide["dtype"] = np.float64
        return np.asarray(getattr(posenc, self.call.name)(**wide), dtype=np.float64)


def _wide(value: Any) -> Any:
    real = isinstance(value, np.ndarray) and value.dtype.kind in "fV"
    return value.astype(np.float64) if real else value


# Changes.


def base(asked: Asked, given: Given, size: float) -> Floats:
    """Scale the base by ``1 + size``."""
    if "base" not in given:
        raise Inapplicable
    return asked.true(given | {"base": given["base"] * (1 + size)})


def scale(asked: Asked, given: Given, size: float) -> Floats:
    """Scale all values by ``1 + size``."""
    return asked.true(given) * (1 + size)


def offset(asked: Asked, given: Given, size: float) -> Floats:
    """Shift all positions by ``size``."""
    if asked.call.kind == "rotary":
        pairs = probed(asked, given)
        return turned(asked.true(given), pairs, size * pairs.frequencies)
    return asked.true(given | {"positions": _real_positions(given) + size})


def one(place: Callable[[int], int]) -> Change:
    """Return a change that scales one frequency, or one head's slope, by ``1 + size``."""

    def change(asked: Asked, given: Given, size: float) -> Floats:
        if asked.call.kind == "rotary":
            pairs = probed(asked, given)
            turns = np.multiply.outer(_real_positions(given), size * pairs.frequencies)
            turns *= np.arange(len(pairs.frequencies)) == place(len(pairs.frequencies))
            return turned(asked.true(given), pairs, turns)
        result = asked.true(given)
        if asked.call.kind == "encode":
            channels = channels_of_pairs(asked, given)
            changed = channels == place(int(channels.max()) + 1)
            moved = asked.true(given | {"positions": _real_positions(given) * (1 + size)})
            return np.where(changed, moved, result)
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


# What a rotary call does to its channels, measured on the call itself.


@dataclass(frozen=True)
class Pairs:
    """The output channels of each rotated pair, and its frequency in radians per position."""

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    frequencies: Floats


def probed(asked: Asked, given: Given) -> Pairs:
    """Return the pairs of a call, from its results for unit vectors at positions 0 and 1."""
    if not _rows_have_positions(given):
        raise Inapplicable
    largest = int(np.max(given["positions"], initial=1))  # frequencies may depend on it
    parameters = {name: value for name, value in given.items() if name not in ("x", "positions")}
    shape = given["x"].shape[-1], largest
    if all(np.ndim(value) == 0 for value in parameters.values()):
        return _keep(asked, shape, tuple(sorted(parameters.items())))
    return _probed(asked, shape, parameters)


@lru_cache(maxsize=1024)
def _keep(asked: Asked, shape: tuple[int, int], rest: tuple[tuple[str, Any], ...]) -> Pairs:
    return _probed(asked, shape, dict(rest))


def _probed(asked: Asked, shape: tuple[int, int], rest: Given) -> Pairs:
    dim, largest = shape
    units = np.repeat(np.eye(dim)[:, None], 3, axis=1)
    seen = asked.true({"x": units, "positions": np.array([0, 1, largest]), **rest})
    written = np.abs(seen[:, 0]).argmax(axis=1)  # output channel of each channel at position 0
    first, second, frequencies = [], [], []
    for channel in range(dim):
        row = seen[channel, 1].copy()
        along, row[written[channel]] = row[written[channel]], 0.0
        other = int(np.abs(row).argmax())
        if row[other] > 0:  # the pair's first channel; for the second one the sine is negative
            first.append(written[channel])
            second.append(other)
            frequencies.append(np.arctan2(row[other], along))
    return Pairs(np.array(first, int), np.array(second, int), np.array(frequencies))


def turned(result: Floats, pairs: Pairs, angles: Floats) -> Floats:
    """Return a result with each pair rotated further, by an angle per row and pair."""
    a, b = result[..., pairs.first], result[..., pairs.second]
    further = result.copy()
    further[..., pairs.first] = a * np.cos(angles) - b * np.sin(angles)
    further[..., pairs.second] = a * np.sin(angles) + b * np.cos(angles)
    return further


def _rows_have_positions(given: Given) -> bool:
    return getattr(given.get("positions"), "ndim", 0) == 1


def channels_of_pairs(asked: Asked, given: Given) -> npt.NDArray[np.int64]:
    """Return the index of each channel's pair, fastest first; -1 if the channel doesn't rotate."""
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
    """Return the reference with a change, claiming one combination in one dtype."""

    def method(self: object, *arguments: Any, **keywords: Any) -> Any:
        kind = DTYPES[keywords.pop("dtype", dtype)]
        by_name = dict(zip(asked.call.arguments, arguments, strict=True)) | keywords
        return change(asked, by_name, size).astype(kind)

    claim = claims(asked.combination.name, dtype=dtype)
    return type("Changed", (), {asked.call.name: claim(method)})()


def smallest(asked: Asked, dtype: str, change: Change) -> int | None:
    """Return the largest k so that a change of 2**-k is detected; -1 if a change of 1 isn't.

    Returns None if the change makes no sense.
    """
    if not _applies(asked, dtype, change):
        return None
    low, high = -1, FINEST + 1  # detected, not detected
    while high - low > 1:
        middle = (low + high) // 2
        if _detected(asked, dtype, change, 2.0**-middle):
            low = middle
        else:
            high = middle
    return low


def _detected(asked: Asked, dtype: str, change: Change, size: float) -> bool:
    failed = first_failure(adapter(asked, dtype, change, size), [asked.scheme], silence_fails=False)
    return failed is not None


def _applies(asked: Asked, dtype: str, change: Change) -> bool:
    """Return whether the change applies to the call; raise if a change of 0 fails a check."""
    failed = first_failure(adapter(asked, dtype, change, 0.0), [asked.scheme], silence_fails=False)
    if failed is not None and not failed.raised:
        raise AssertionError(f"{asked.call.name}: no change, but {failed.text}")
    return failed is None  # else the call raised: no such argument, or fractional positions


def measure(scheme: KnownScheme) -> Iterator[dict[str, Any]]:
    """Yield the smallest detected changes of every call of KINDS, in its first combination."""
    for call in scheme.calls.values():
        if call.kind not in KINDS or call.dtype in ("integer", "boolean"):
            continue
        probe = Asked(scheme, call, next(iter(call.combinations.values())))
        for dtype in DTYPES_ASKED:
            powers = {name: smallest(probe, dtype, change) for name, change in WAYS.items()}
            yield {"scheme": scheme.id, "call": call.name, "dtype": dtype, "smallest": powers}


def rows(found: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    """Return a row per call and dtype."""
    return [
        [row["call"], row["dtype"], *(_render(row["smallest"][name]) for name in CHANGES)]
        for row in found
    ]


def _render(power: int | None) -> str:
    if power is None:
        return "-"
    return f"2^-{power}" if power >= 0 else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", help="only this scheme")
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [candidate for candidate in load_all() if options.scheme in (None, candidate.id)]
    with np.errstate(all="ignore"), without_diagnosis():
        measured = [row for scheme in chosen for row in measure(scheme)]
    print(table(["call", "dtype", *CHANGES], rows(measured)))
    write(options.write, {"smallest power of two detected": measured})


if __name__ == "__main__":
    main()
