"""Position ids of the tokens of a batch.

Sources: transformers 5.23.0 (``generation/utils.py``, ``_prepare_position_ids_for_generation``;
``data/data_collator.py``, ``DataCollatorWithFlattening``; ``models/roberta``,
``create_position_ids_from_input_ids``) and fairseq (``utils.py``,
``make_positions``).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments

__all__ = [
    "cached_position_ids",
    "fairseq_position_ids",
    "packed_position_ids",
    "padded_position_ids",
    "token_position_ids",
]

Ids = npt.NDArray[np.int64]
PADDED = ("zero", "one")


def padded_position_ids(attention_mask: npt.ArrayLike, *, padded: str = "zero") -> Ids:
    """Return positions of the tokens of padded sequences: 0, 1, 2, … over real tokens only.

    Parameters
    ----------
    attention_mask : integer array of shape [batch, n]
        1 for a token, 0 for padding, which may be anywhere.
    padded : "zero" or "one"
        Position of padding. It has no effect, but must be a valid index.

    Returns
    -------
    int64 array of shape [batch, n]

    Raises
    ------
    TypeError, ValueError
        If attention_mask is out of its domain, or padded is unknown.
    """
    arguments.choice("padded", padded, PADDED)
    mask = _mask(attention_mask)
    return np.where(mask == 1, mask.cumsum(axis=1) - 1, PADDED.index(padded))


def fairseq_position_ids(attention_mask: npt.ArrayLike, padding_index: int) -> Ids:
    """Return rows of a position table in which position 0 follows the row of the padding token.

    Parameters
    ----------
    attention_mask : integer array of shape [batch, n]
        1 for a token, 0 for padding, which may be anywhere.
    padding_index : int
        The vocabulary's index of the padding token, at least 0. Padding gets this row, the first
        token the next one.

    Returns
    -------
    int64 array of shape [batch, n]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    mask = _mask(attention_mask)
    return mask.cumsum(axis=1) * mask + arguments.integer("padding_index", padding_index, 0)


def token_position_ids(input_ids: npt.ArrayLike, padding_index: int, past_length: int) -> Ids:
    """Return rows of a position table for new tokens after cached tokens.

    The table is that of :func:`fairseq_position_ids`; here padding is found by its token
    id.

    Parameters
    ----------
    input_ids : integer array of shape [batch, n]
        The new tokens; padding tokens may be anywhere.
    padding_index : int
        The vocabulary's index of the padding token, at least 0. Padding gets this row.
    past_length : int
        Number of cached tokens of every sequence, at least 0. The first new token gets the row
        padding_index + past_length + 1.

    Returns
    -------
    int64 array of shape [batch, n]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    padding = arguments.integer("padding_index", padding_index, 0)
    mask = _integers("input_ids", input_ids, 2) != padding
    past = arguments.integer("past_length", past_length, 0)
    ids: Ids = (mask.cumsum(axis=1) + past) * mask + padding
    return ids


def packed_position_ids(lengths: npt.ArrayLike) -> Ids:
    """Return positions of sequences packed into one row: each starts again at 0.

    Parameters
    ----------
    lengths : integer array of shape [sequences]
        Number of tokens of each sequence, at least 0.

    Returns
    -------
    int64 array of shape [sum of lengths]

    Raises
    ------
    TypeError, ValueError
        If lengths are out of their domain.
    """
    sizes = _integers("lengths", lengths, 1)
    if np.any(sizes < 0):
        raise ValueError("lengths must not be negative")
    ends = sizes.cumsum()
    return np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes)


def cached_position_ids(past_length: int, q_len: int) -> Ids:
    """Return positions of new tokens after those whose keys and values are cached.

    Parameters
    ----------
    past_length : int
        Number of cached tokens.
    q_len : int
        Number of new tokens.

    Returns
    -------
    int64 array of shape [q_len]

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer of at least 0.
    """
    past_length = arguments.integer("past_length", past_length, 0)
    return past_length + np.arange(arguments.integer("q_len", q_len, 0))


def _mask(attention_mask: npt.ArrayLike) -> Ids:
    mask = _integers("attention_mask", attention_mask, 2)
    if np.any((mask != 0) & (mask != 1)):
        raise ValueError("attention_mask must hold 0 and 1 only")
    return mask


def _integers(name: str, value: Any, axes: int) -> Ids:
    array = np.asarray(value)
    if array.ndim != axes:
        raise ValueError(f"{name} has shape {array.shape}; it must have {axes} axes")
    if not np.issubdtype(array.dtype, np.integer) and array.size:
        raise TypeError(f"{name} is {array.dtype}; it must hold integers")
    return array.astype(np.int64)
