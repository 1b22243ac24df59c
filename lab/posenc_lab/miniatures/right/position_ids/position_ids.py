"""Right implementations: position ids."""

from itertools import accumulate, chain

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class IdsByMaskedFill:
    """A running sum minus one, then padding overwritten, as in generation."""

    @claims("zero", "one")
    def padded_position_ids(self, attention_mask: Array, *, padded: str) -> Array:
        ids = attention_mask.cumsum(-1) - 1
        ids[attention_mask == 0] = ("zero", "one").index(padded)
        return ids

    @claims("behind-padding")
    def fairseq_position_ids(self, attention_mask: Array, padding_index: int) -> Array:
        mask = (attention_mask != 0).astype(np.int32)
        return (np.cumsum(mask, axis=1).astype(mask.dtype) * mask).astype(np.int64) + padding_index

    @claims("tokens-behind-padding")
    def token_position_ids(self, input_ids: Array, padding_index: int, past_length: int) -> Array:
        mask = (input_ids != padding_index).astype(np.int32)
        counted = (np.cumsum(mask, axis=1).astype(mask.dtype) + past_length) * mask
        return counted.astype(np.int64) + padding_index

    @claims("from-zero")
    def packed_position_ids(self, lengths: Array) -> list[int] | Array:
        return list(chain.from_iterable(range(int(n)) for n in lengths)) or np.zeros(0, int)

    @claims("from-zero")
    def cached_position_ids(self, past_length: int, q_len: int) -> Array:
        return np.arange(past_length, past_length + q_len, dtype=np.int64)


@right
class IdsByMultiplication:
    """A product with the mask, in 32 bits; steps of packed sequences accumulated."""

    @claims("zero")
    def padded_position_ids(self, attention_mask: Array) -> Array:
        mask = attention_mask.astype(np.int32)
        return (mask.cumsum(axis=-1, dtype=np.int32) - 1) * mask

    @claims("from-zero")
    def packed_position_ids(self, lengths: Array) -> Array:
        sizes = lengths[lengths > 0].astype(np.int64)
        steps = np.ones(int(lengths.sum()), dtype=np.int64)
        steps[:1] = 0
        ends = np.cumsum(sizes)[:-1]
        steps[ends] = 1 - sizes[:-1]
        return np.cumsum(steps)

    @claims("from-zero", max_position=2**31 - 1)
    def cached_position_ids(self, past_length: int, q_len: int) -> Array:
        return np.full(q_len, past_length, dtype=np.int32) + np.arange(q_len, dtype=np.int32)


@right
class IdsTokenByToken:
    """Counted in plain Python; results in other integer types."""

    @claims("one")
    def padded_position_ids(self, attention_mask: Array) -> Array:
        ids = np.ones(attention_mask.shape, dtype=np.uint16)
        for row, mask in zip(ids, attention_mask, strict=True):
            count = 0
            for place, real in enumerate(mask):
                if real:
                    row[place] = count
                    count += 1
        return ids

    @claims("behind-padding", padding_index=[0, 1])
    def fairseq_position_ids(self, attention_mask: Array, padding_index: int) -> Array:
        rows = [
            [
                padding_index + (count if real else 0)
                for count, real in zip(counts, row, strict=True)
            ]
            for row in attention_mask.tolist()
            for counts in [list(accumulate(row))]
        ]
        return np.array(rows, dtype=np.int16)

    @claims(padding_index=1, past_length=[0, 1, 3])
    def token_position_ids(self, input_ids: Array, padding_index: int, past_length: int) -> Array:
        ids = np.full(input_ids.shape, padding_index)
        for row, tokens in zip(ids, input_ids, strict=True):
            real = np.flatnonzero(tokens != padding_index)
            row[real] = range(
                padding_index + past_length + 1, padding_index + past_length + 1 + len(real)
            )
        return ids

    @claims("from-zero", q_len=1, max_position=2047)
    def cached_position_ids(self, past_length: int, q_len: int) -> list[int]:
        return [past_length]
