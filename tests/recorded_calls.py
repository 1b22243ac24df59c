"""Engines in PyTorch that record a call of rope_offsets, and the texts of their failures."""

from typing import Any

from posenc_conformance import claims
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import failed, judge

LEVELS = ("smoke", "golden", "behaviour")


def told(adapter: object) -> list[str]:
    """Return the texts of the failed checks of an adapter of one call."""
    verdicts = judge(adapter, levels=LEVELS)
    assert any(verdict.verdict == "passed" for verdict in verdicts)
    return [verdict.text for verdict in failed(verdicts)]


def turned(library: Any, x: Any, offsets: Any, base: float) -> Any:
    """Rotate the rows of sequences that start at ``offsets``, in the half layout."""
    half = x.shape[-1] // 2
    omega = base ** -(library.arange(half) / half)
    places = offsets[:, None] + library.arange(x.shape[2])
    angles = places[:, None, :, None] * omega
    first, second = x[..., :half], x[..., half:]
    cos, sin = library.cos(angles), library.sin(angles)
    return library.concatenate([first * cos - second * sin, first * sin + second * cos], -1)


def recording(reads_each_time: bool) -> object:
    """Make an engine that reads offsets in each call, or keeps those of the recording."""
    import torch

    from posenc_conformance.adapters.torch import captured

    def numbers(offsets: list[int]) -> Any:
        return torch.stack([torch.full((), offset) for offset in offsets])

    class Engine:
        """Engine whose offsets are inputs of the recording, or constants in it."""

        def __init__(self) -> None:
            self.offsets: Any = None
            self.turn = captured(
                lambda x, offsets, base: turned(
                    torch, x, offsets if reads_each_time else numbers(self.offsets), base
                ).to(x.dtype)
            )

        @claims("offsets-half")
        def rope_offsets(self, x: Array, offsets: Array, *, base: float) -> Any:
            if len(offsets) != len(x):
                raise ValueError("an offset for each sequence")
            self.offsets = offsets.tolist()
            return self.turn(x, offsets, base=base)

    return Engine()
