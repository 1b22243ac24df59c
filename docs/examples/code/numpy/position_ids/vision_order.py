import numpy as np


def merged_position_ids(grids, *, merge_size):
    parts = []
    for frames, height, width in grids:
        h, w = np.indices((height, width)).reshape(2, -1)
        order = np.lexsort((w, h, w // merge_size, h // merge_size))  # the last key counts first
        parts += [np.stack([h, w])[:, order]] * frames
    return np.concatenate([np.zeros((2, 0), dtype=np.int64), *parts], axis=1)


def window_order(grids, window, *, merge_size):
    parts, before = [np.zeros(0, dtype=np.int64)], 0
    for frames, height, width in grids:
        t, h, w = np.indices((frames, height // merge_size, width // merge_size)).reshape(3, -1)
        parts.append(before + np.lexsort((w, h, w // window, h // window, t)))
        before += len(t)
    return np.concatenate(parts)
