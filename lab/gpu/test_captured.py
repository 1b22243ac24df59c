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


def test_what_is_read_each_time_is_right() -> None:
    assert told(recording(reads_each_time=True)) == []


def test_an_offset_that_stays_as_it_was_recorded_is_named() -> None:
    said = told(recording(reads_each_time=False))
    assert any("as an earlier call had" in each for each in said)
