"""Kernels that are sharded across ranks by heads or rows, called as one function."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from posenc_conformance.adapters.helpers import Positions

Kernel = Callable[..., Any]


def by_ranks(
    kernel: Kernel, ranks: int, *, cut: Mapping[str, int], join: int, share: str = "contiguous"
) -> Kernel:
    """Make a function that shards arrays, calls a kernel once per rank and joins the results.

    Parameters
    ----------
    kernel : callable
        Called with all arguments by name, and with ``rank``, from 0, and ``ranks``. Each array in
        ``cut`` is replaced by the share of this rank.
    ranks : int
        Number of ranks.
    cut : mapping
        Names of the arguments to shard, each with its axis of heads or rows. A number, such as the
        number of heads, is passed unchanged.
    join : int
        The axis of results along which shares are joined.
    share : "contiguous", "zigzag" or "round-robin"
        As for :func:`posenc.shard_position_ids`.

    Returns
    -------
    callable
        Takes arguments by name. Shares have equal sizes: they are padded with the last head or row,
        and the padding is left out of the result.

    Raises
    ------
    ValueError
        When it is called, if the axes to cut differ in length.
    """

    def whole(**given: Any) -> Any:
        length = _length(given, cut)
        pieces = ranks * (2 if share == "zigzag" else 1)
        filled = -(-length // pieces) * pieces
        shares = [_share(filled, rank, ranks, share) for rank in range(ranks)]
        results = [
            kernel(**given | _part(given, cut, own, length), rank=rank, ranks=ranks)
            for rank, own in enumerate(shares)
        ]
        order = np.argsort(np.concatenate(shares))[:length]
        return np.concatenate([np.asarray(part) for part in results], axis=join).take(order, join)

    return whole


def _share(length: int, rank: int, ranks: int, share: str) -> Positions:
    """Return the indices of one rank's heads or rows; adapters cannot import the reference."""
    rows = np.arange(length)
    if share == "round-robin":
        return rows[rank::ranks]
    if share == "contiguous":
        return np.split(rows, ranks)[rank]
    if share == "zigzag":
        pieces = np.split(rows, 2 * ranks)
        return np.concatenate([pieces[rank], pieces[-1 - rank]])
    raise ValueError(f"by_ranks: share is {share!r}; it is contiguous, zigzag or round-robin")


def _length(given: Mapping[str, Any], cut: Mapping[str, int]) -> int:
    """Return the number of heads or rows that the ranks share."""
    lengths = {
        name: np.shape(given[name])[axis] if np.ndim(given[name]) else int(given[name])
        for name, axis in cut.items()
    }
    if len(set(lengths.values())) != 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items()) or "nothing"
        raise ValueError(
            f"by_ranks: what is shared does not have one length: {shown}; cut names each argument "
            "that is shared, with its axis of heads or of rows"
        )
    return lengths.popitem()[1]


def _part(
    given: Mapping[str, Any], cut: Mapping[str, int], own: Any, length: int
) -> dict[str, Any]:
    """Return the share of one rank of each array, by argument name."""
    places = np.minimum(own, length - 1)
    arrays = {name: axis for name, axis in cut.items() if np.ndim(given[name])}
    return {name: np.take(given[name], places, axis=axis) for name, axis in arrays.items()}
