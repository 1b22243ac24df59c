"""Tests of the statements about transformers on the page on BigBird.

In evaluation the list of random blocks is all zeros. As a set, its pattern is the mask of the spec;
but its softmax counts the keys of the first block once more for each random block.
"""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.models.big_bird.modeling_big_bird import (
    BigBirdBlockSparseAttention,
    BigBirdModel,
)

import posenc

HEADS, DIM, BLOCK, BLOCKS = 2, 4, 4, 13
N = BLOCK * BLOCKS


def released(hidden: Any, random_blocks: int) -> Any:
    """Return the library's module of block-sparse attention, and its output in evaluation."""
    config = transformers.BigBirdConfig(
        hidden_size=HEADS * DIM,
        num_attention_heads=HEADS,
        block_size=BLOCK,
        num_random_blocks=random_blocks,
        max_position_embeddings=N,
    )
    torch.manual_seed(3)
    module = BigBirdBlockSparseAttention(config).double().eval()
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, N).double(), BLOCK)
    blocked, band, from_mask, to_mask = masks
    with torch.no_grad():
        out, _ = module(hidden, band, from_mask, to_mask, blocked, blocked)
    return module, out


def projected(module: Any, hidden: Any, name: str) -> np.ndarray:
    """Return queries, keys or values: [heads, n, dim]."""
    with torch.no_grad():
        rows = getattr(module, name)(hidden)[0].numpy()
    return np.asarray(rows.reshape(N, HEADS, DIM).swapaxes(0, 1))


@pytest.mark.parametrize("random_blocks", [1, 3])
def test_softmax_counts_the_first_block_again_for_each_random_block(
    random_blocks: int,
) -> None:
    torch.manual_seed(random_blocks)
    hidden = torch.randn(1, N, HEADS * DIM, dtype=torch.float64)
    module, out = released(hidden, random_blocks)
    q, k, v = (projected(module, hidden, name) for name in ("query", "key", "value"))
    bias = np.where(posenc.bigbird_mask(N, N, BLOCK), 0.0, -np.inf)
    counted = bias.copy()
    counted[BLOCK : N - BLOCK, :BLOCK] += np.log(1 + random_blocks)
    as_a_set, as_it_is = (
        posenc.attention_with_bias(q, k, v, np.broadcast_to(added, (HEADS, N, N)))
        for added in (bias, counted)
    )
    got = out[0].numpy().reshape(N, HEADS, DIM).swapaxes(0, 1)
    assert np.abs(got - as_it_is).max() < 1e-12
    assert np.abs(got - as_a_set).max() > 1e-3
