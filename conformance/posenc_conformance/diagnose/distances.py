"""Distances used by the elements of a bias, read from its values.

The formula may be right and the distance wrong: from another query position, to a key's index in
its tile, with the opposite sign, or clipped.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case

LARGEST = 256
"""Maximum number of keys for which the bias of keys after their query is computed."""
LARGEST_RESULT = 2**20
"""Largest result, in values, whose distances are read."""
TILES = tuple(2**power for power in range(1, 9))
"""Sizes of tiles of queries or keys that are tried."""
BOUNDS = tuple(2**power - below for power in range(1, 12) for below in (1, 0))
"""Limits of distances that are tried."""
NEAR = 4
"""Maximum number of positions by which a query is tried too early or too late."""

Distance = Callable[[Ints, Ints, int], Ints]
"""Takes indices of queries [q, 1], indices of keys [k] and the number of keys before the first
query; returns the distance used for each pair, negative before the query."""


def describe_distances(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say in words which distances are used for queries and keys.

    Empty if no known rule gives all results, or if a result depends on more than distances.
    """
    answers = (*wrong, *right)
    if not wrong or any(output.size > LARGEST_RESULT for _, output in answers):
        return ""
    if not any(output[np.broadcast_to(case.judged, case.shape)].any() for case, output in wrong):
        return ""  # as for any cause
    readings = []
    for case, output in answers:
        if (values := _by_distance(case)) is None:
            return ""
        readings.append((case, output, values))
    longest = max(case.arguments["k_len"] for case, _ in wrong)
    for words, distance in _distances():
        if _give(distance, readings):
            return words
    for words, by_size, sizes in SIZED:
        fits = [size for size in sizes if size < longest and _give(by_size(size), readings)]
        if fits:
            return words.format(size=f"{fits[0]}" + " or more" * bool(fits[1:]))
    return ""


def _give(distance: Distance, known: Sequence[tuple[Case, Floats, Floats]]) -> bool:
    """Return whether a rule for distances gives all results and differs from the truth for some."""
    models = [(case, output, _model(case, values, distance)) for case, output, values in known]
    return all(_fits(*answer) for answer in models) and any(
        differs(case, model) for case, _, model in models
    )


def _distances() -> Iterator[tuple[str, Distance]]:
    """Yield candidate rules for distances, with words for them."""
    yield (
        "queries stand at 0, 1, 2, …, although the cache holds keys before them",
        lambda query, key, before: key - query,
    )
    yield (
        "queries stand too late: the keys before them in the cache are counted twice",
        lambda query, key, before: key - query - 2 * before,
    )
    for off in range(1, NEAR + 1):
        for by, way in ((off, "later"), (-off, "earlier")):
            yield f"every query stands {off} {way} than it should", _moved(by)
    yield (
        "keys after the query get the bias of keys as far before it",
        lambda query, key, before: -np.abs(key - query - before),
    )
    yield (
        "keys before the query get the bias of keys as far after it",
        lambda query, key, before: np.abs(key - query - before),
    )
    yield (
        "keys before and after the query get each other's bias",
        lambda query, key, before: query + before - key,
    )
    yield (
        "every query and every key gets the bias of the first one",
        lambda query, key, before: 0 * (key + query) - before,
    )


def _moved(by: int) -> Distance:
    return lambda query, key, before: key - query - before - by


def _tiled(
    of_query: Callable[[Ints, int], Ints], of_key: Callable[[Ints, int], Ints]
) -> Callable[[int], Distance]:
    """Make distances, by tile size, from functions that replace the indices of queries and keys."""
    return lambda size: (
        lambda query, key, before: of_key(key, size) - of_query(query, size) - before
    )


def _first_of_tile(number: Ints, size: int) -> Ints:
    return number // size * size


def _within_tile(number: Ints, size: int) -> Ints:
    return number % size


def _itself(number: Ints, size: int) -> Ints:
    return number


def _cut(size: int) -> Distance:
    return lambda query, key, before: np.clip(key - query - before, -size, size)


FIRST = "gets the bias of the first one in its tile of {size}"
AGAIN = "gets the bias of the one at its place in the first tile of {size}"
SIZED: Sequence[tuple[str, Callable[[int], Distance], Sequence[int]]] = (
    (f"every query {FIRST}", _tiled(_first_of_tile, _itself), TILES),
    (f"every key {FIRST}", _tiled(_itself, _first_of_tile), TILES),
    (f"every query and every key {FIRST}", _tiled(_first_of_tile, _first_of_tile), TILES),
    (f"every query {AGAIN}", _tiled(_within_tile, _itself), TILES),
    (f"every key {AGAIN}", _tiled(_itself, _within_tile), TILES),
    (f"every query and every key {AGAIN}", _tiled(_within_tile, _within_tile), TILES),
    ("distances are clipped to {size}", _cut, BOUNDS),
)
"""Candidate rules for distances that depend on a size, in words, and the sizes that are tried."""


def _by_distance(case: Case) -> Floats | None:
    """Compute the bias at each distance: [heads, 2 far + 1], nan where it is unknown.

    None unless the call has a bias that depends only on head and distance.
    """
    sizes = case.arguments
    if case.call.kind != "bias" or not {"q_len", "k_len"} <= sizes.keys() or not case.truth.size:
        return None
    far = 2 * sizes["k_len"] + NEAR
    before = case.with_arguments(q_len=1, k_len=far + 1)
    if not before.has_result:
        return None
    values = np.full((len(case.truth), 2 * far + 1), np.nan)
    values[:, : far + 1] = before.truth[:, 0]
    if (keys := sizes["k_len"]) <= LARGEST:
        values[:, far : far + keys] = case.with_arguments(q_len=keys).truth[:, 0]
    right = _model(case, values, lambda query, key, before: key - query - before)
    is_known = case.judged & np.isfinite(right)
    off = np.where(is_known, right, 0.0) - np.where(is_known, case.truth, 0.0)
    return values if (np.abs(off) <= case.bound).all() and is_known.any() else None


def _model(case: Case, values: Floats, distance: Distance) -> Floats:
    """Compute the bias that a rule for distances gives, nan where it is unknown."""
    queries, keys = case.arguments["q_len"], case.arguments["k_len"]
    taken = distance(np.arange(queries)[:, None], np.arange(keys), keys - queries)
    place = taken + values.shape[1] // 2
    inside = (place >= 0) & (place < values.shape[1])
    return np.where(inside, values[:, np.clip(place, 0, values.shape[1] - 1)], np.nan)


def _fits(case: Case, output: Floats, model: Floats) -> bool:
    """Return whether a result is that of a model, which must be known at all judged values."""
    is_known = np.isfinite(model) | ~np.broadcast_to(case.judged, case.shape)
    return bool(is_known.all()) and residual_of(case, output, model) <= 1
