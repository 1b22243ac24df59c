import torch


def padded_position_ids(attention_mask):
    counted = torch.cumsum(attention_mask, dim=-1) - 1
    return torch.where(attention_mask == 1, counted, 0)


def packed_position_ids(lengths):
    return torch.tensor([i for length in lengths for i in range(length)], dtype=torch.int64)


def cached_position_ids(past_length, q_len):
    return torch.arange(past_length, past_length + q_len)
