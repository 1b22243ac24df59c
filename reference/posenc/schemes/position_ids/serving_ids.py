"""Position ids in serving, and in training on several ranks.

Shards of a sequence, branching drafts, lengths or segment numbers in place of a mask, a cache that
drops and moves tokens, and windows of a prompt with images.

Sources: zhuzilin/ring-flash-attention (``extract_local``) and Megatron-LM
(``get_batch_on_this_cp_rank``); ggml-org/llama.cpp, pull request 3624 and ``llama.h``
(``llama_memory_seq_rm``, ``llama_memory_seq_add``); microsoft/onnxruntime
(``SeqlensToPosIdsPrompt``); tensorflow/tensor2tensor (``pack_dataset``); transformers 4.49
(``models/qwen2_vl``, ``get_rope_index``, whose ``rope_deltas`` decoding adds).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.schemes.rotary.m_rope import m_rope_position_ids

__all__ = [
    "length_position_ids",
    "m_rope_window_position_ids",
    "segment_position_ids",
    "session_position_ids",
    "shard_position_ids",
    "tree_position_ids",
]

Ids = npt.NDArray[np.int64]
SHARES = ("contiguous", "zigzag", "round-robin")
PADDED = ("one", "continued")
APPEND, DROP, MOVE = range(3)


def shard_position_ids(length: int, rank: int, ranks: int, *, share: str = "contiguous") -> Ids:
    """Return positions of one rank's share of the tokens of a sequence.

    Parameters
    ----------
    length : int
        Tokens of the whole sequence, a multiple of ranks, or of 2 * ranks for zigzag.
    rank, ranks : int
        The rank, from 0, and the number of ranks.
    share : "contiguous", "zigzag" or "round-robin"
        One piece for each rank; of 2 * ranks pieces, piece ``rank`` from the front and piece
        ``rank`` from the back; or every ranks-th token.

    Returns
    -------
    int64 array of shape [length / ranks]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or the sequence cannot be divided evenly.
    """
    arguments.choice("share", share, SHARES)
    count = arguments.integer("ranks", ranks, 1)
    number = arguments.integer("rank", rank, 0)
    if number >= count:
        raise ValueError(f"rank is {number}; it must be below ranks, {count}")
    pieces = count * (2 if share == "zigzag" else 1)
    size, remainder = divmod(arguments.integer("length", length, 0), pieces)
    if remainder:
        raise ValueError(f"length is {length}; it must be a multiple of {pieces}")
    steps = np.arange(size)
    if share == "round-robin":
        return number + count * steps
    if share == "contiguous":
        return number * size + steps
    return np.concatenate([number * size + steps, (pieces - 1 - number) * size + steps])


def tree_position_ids(past_length: int, parents: npt.ArrayLike) -> Ids:
    """Return positions of the tokens of a branching draft after cached tokens.

    Parameters
    ----------
    past_length : int
        Number of cached tokens.
    parents : integer array of shape [n]
        The row of each token's predecessor, above its own row; -1 if it follows the cache.

    Returns
    -------
    int64 array of shape [n]
        Tokens with the same predecessor have the same position.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or a token follows itself or a later one.
    """
    past = arguments.integer("past_length", past_length, 0)
    before = _integers("parents", parents, 1)
    if ((before >= np.arange(len(before))) | (before < -1)).any():
        raise ValueError("parents must be rows above the token's own, or -1")
    ids = np.empty(len(before), dtype=np.int64)
    for row, parent in enumerate(before):
        ids[row] = past if parent < 0 else ids[parent] + 1
    return ids


def length_position_ids(
    lengths: npt.ArrayLike, past_lengths: npt.ArrayLike, n: int, *, padded: str = "one"
) -> Ids:
    """Return positions of right-padded sequences, from their lengths.

    Parameters
    ----------
    lengths : integer array of shape [batch]
        Tokens of each sequence, at most n.
    past_lengths : integer array of shape [batch]
        Cached tokens of each sequence.
    n : int
        Number of columns: tokens and padding.
    padded : "one" or "continued"
        Position of padding: 1, or the position of a token in that column.

    Returns
    -------
    int64 array of shape [batch, n]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("padded", padded, PADDED)
    sizes, past = _integers("lengths", lengths, 1), _integers("past_lengths", past_lengths, 1)
    columns = np.arange(arguments.integer("n", n, 0))
    if sizes.shape != past.shape:
        raise ValueError(f"there are {len(sizes)} lengths, but {len(past)} past lengths")
    if (sizes < 0).any() or (past < 0).any() or (sizes > len(columns)).any():
        raise ValueError(f"lengths must be from 0 to {len(columns)}, and past lengths not below 0")
    counted = past[:, None] + columns
    return np.where((columns < sizes[:, None]) | (padded == "continued"), counted, 1)


def segment_position_ids(segments: npt.ArrayLike) -> Ids:
    """Return positions of packed texts, from each token's segment number.

    Parameters
    ----------
    segments : integer array of shape [batch, n]
        The same number for all tokens of a text, another for the next text; 0 for padding.

    Returns
    -------
    int64 array of shape [batch, n]
        Each text begins at 0; padding is 0.

    Raises
    ------
    TypeError, ValueError
        If segments are out of their domain.
    """
    numbers = _integers("segments", segments, 2)
    if (numbers < 0).any():
        raise ValueError("segments must not be negative")
    columns = np.arange(numbers.shape[1])
    first = np.ones(numbers.shape, dtype=np.bool_)
    first[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    starts = np.maximum.accumulate(np.where(first, columns, 0), axis=1)
    return np.where(numbers == 0, 0, columns - starts)


def session_position_ids(events: npt.ArrayLike) -> Ids:
    """Return the positions of tokens in a session whose cache drops and moves tokens.

    Parameters
    ----------
    events : integer array of shape [m, 3]
        In order: (0, n, 0) appends n tokens after the largest position in the cache, from 0 if it
        is empty; (1, start, stop) drops the tokens at positions from start to stop - 1;
        (2, start, delta) moves the tokens at positions from start on by delta.

    Returns
    -------
    int64 array of shape [appended tokens]
        The position of each token when it was appended.

    Raises
    ------
    TypeError, ValueError
        If events are out of their domain, or a token would be moved below 0 or onto another one.
    """
    steps = _integers("events", events, 2)
    if steps.shape[1] != 3:
        raise ValueError(f"events have shape {steps.shape}; they must be [m, 3]")
    held, appended = np.zeros(0, dtype=np.int64), [np.zeros(0, dtype=np.int64)]
    for kind, start, then in steps.tolist():
        if kind not in (APPEND, DROP, MOVE) or start < 0:
            raise ValueError(f"the event {[kind, start, then]} is none of the three kinds")
        if kind == APPEND:
            new = held.max(initial=-1) + 1 + np.arange(start)
            appended.append(new)
            held = np.concatenate([held, new])
        elif kind == DROP:
            held = held[(held < start) | (held >= then)]
        else:
            held = held + then * (held >= start)
            if (held < 0).any() or len(np.unique(held)) < len(held):
                raise ValueError(f"moved by {then} from {start} on, tokens have no place")
    return np.concatenate(appended)


def m_rope_window_position_ids(
    segments: npt.ArrayLike, start: int, stop: int, *, merge_size: int = 1
) -> Ids:
    """Return time, height and width ids of a slice of a prompt with images and decoded tokens.

    Parameters
    ----------
    segments : integer array of shape [s, 3]
        The prompt, as for :func:`m_rope_position_ids`.
    start, stop : int
        Tokens from start to stop - 1, counted from the beginning of the prompt; those beyond its
        end are decoded, and continue from its largest id.
    merge_size : int
        Patches that are merged into one token along the height, and as many along the width.

    Returns
    -------
    int64 array of shape [3, stop - start]

    Raises
    ------
    TypeError, ValueError
        As :func:`m_rope_position_ids`, or if stop is below start.
    """
    prompt = m_rope_position_ids(segments, merge_size=merge_size)
    first = arguments.integer("start", start, 0)
    last = arguments.integer("stop", stop, first)
    decoded = np.arange(max(first, prompt.shape[1]), last) - prompt.shape[1]
    behind = np.tile(prompt.max(initial=-1) + 1 + decoded, (3, 1))
    return np.concatenate([prompt[:, first:last], behind], axis=1)


def _integers(name: str, value: npt.ArrayLike, axes: int) -> Ids:
    array = np.asarray(value)
    if array.ndim != axes:
        raise ValueError(f"{name} has shape {array.shape}; it must have {axes} axes")
    if not np.issubdtype(array.dtype, np.integer) and array.size:
        raise TypeError(f"{name} is {array.dtype}; it must hold integers")
    return array.astype(np.int64)
