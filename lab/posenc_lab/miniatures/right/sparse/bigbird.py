"""Right implementations: BigBird's pattern without random blocks."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class BigBirdByFullMask:
    """Filled block by block, as in the authors' mask, then cut to the sequence length."""

    @claims("window-and-global")
    def bigbird_mask(self, q_len: int, k_len: int, block_size: int) -> Array:
        count = -(-k_len // block_size)
        size = count * block_size
        mask = np.zeros((size, size), dtype=np.int32)
        for i in range(count):
            first = max(i - 1, 0) * block_size
            mask[i * block_size : (i + 1) * block_size, first : (i + 2) * block_size] = 1
        mask[:block_size] = mask[:, :block_size] = 1
        mask[-block_size:] = mask[:, -block_size:] = 1
        return mask[k_len - q_len : k_len, :k_len].astype(bool)

    @claims("linked")
    def bigbird_linked_mask(self, q_len: int, k_len: int, block_size: int, links: Array) -> Array:
        mask = self.bigbird_mask(k_len, k_len, block_size)
        for i in range(1, -(-k_len // block_size) - 1):
            for j in links[i - 1, :]:
                mask[
                    i * block_size : (i + 1) * block_size, j * block_size : (j + 1) * block_size
                ] = True
        return mask[k_len - q_len :]


@right
class BigBirdByRepetition:
    """The pattern of blocks, each entry repeated over its tokens."""

    @claims("window-and-global")
    def bigbird_mask(self, q_len: int, k_len: int, block_size: int) -> Array:
        count = -(-k_len // block_size)
        coarse = np.eye(count) + np.eye(count, k=1) + np.eye(count, k=-1)
        coarse[[0, -1]] = 1
        coarse[:, [0, -1]] = 1
        fine = coarse.repeat(block_size, axis=0).repeat(block_size, axis=1)
        return fine[k_len - q_len : k_len, :k_len] > 0


@right
class BigBirdByLists:
    """A list of keys for every query."""

    @claims("window-and-global")
    def bigbird_mask(self, q_len: int, k_len: int, block_size: int) -> list[list[bool]]:
        last = (k_len - 1) // block_size
        mask = []
        for position in range(k_len - q_len, k_len):
            block = position // block_size
            seen = range(last + 1) if block in (0, last) else (0, block - 1, block, block + 1, last)
            mask.append([key // block_size in seen for key in range(k_len)])
        return mask
