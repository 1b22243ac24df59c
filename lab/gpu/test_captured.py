"""Recorded calls on a GPU, where a record is a CUDA graph."""

from collections.abc import Iterator

import pytest
import torch
from tests.test_captured import test_calls_that_torch_records

__all__ = ["test_calls_that_torch_records"]


@pytest.fixture(autouse=True)
def on_gpu() -> Iterator[None]:
    torch.set_default_device("cuda")
    yield
    torch.set_default_device("cpu")
