import numpy as np


def shard_position_ids(length, rank, ranks):  # zigzag
    pieces = np.split(np.arange(length), 2 * ranks)
    return np.concatenate([pieces[rank], pieces[-1 - rank]])


def tree_position_ids(past_length, parents):
    ids = np.zeros(len(parents), dtype=np.int64)
    for row, parent in enumerate(parents):
        ids[row] = past_length if parent < 0 else ids[parent] + 1
    return ids


def segment_position_ids(segments):
    place = np.arange(segments.shape[1])
    first = np.diff(segments, axis=1, prepend=-1) != 0
    return (place - np.maximum.accumulate(first * place, axis=1)) * (segments != 0)


def session_position_ids(events):
    held, ids = np.zeros(0, dtype=np.int64), []
    for kind, start, then in events:
        if kind == 0:  # append as many
            new = held.max(initial=-1) + 1 + np.arange(start)
            held, ids = np.append(held, new), [*ids, *new]
        elif kind == 1:  # drop a stretch
            held = held[(held < start) | (held >= then)]
        else:  # move all that follows
            held = held + then * (held >= start)
    return np.array(ids, dtype=np.int64)
