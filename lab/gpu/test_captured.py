"""Recorded calls on a GPU, where a record is a CUDA graph."""

from collections.abc import Iterator

import pytest
import torch
from tests.recorded_calls import recording, told


@pytest.fixture(autouse=True)
def on_gpu() -> Iterator[None]:
    torch.set_default_device("cuda")
    yield
    torch.set_default_device("cpu")


def test_offsets_read_at_each_replay_are_right() -> None:
    assert told(recording(reads_each_time=True)) == []


def test_an_offset_frozen_by_the_record_is_named() -> None:
    texts = told(recording(reads_each_time=False))
    assert any("as an earlier call had" in text for text in texts)
