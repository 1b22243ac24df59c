"""Multimodal rotary embeddings, whose pairs rotate by times, heights or widths."""

from typing import Any

import torch
from torch import Tensor, nn

from posenc_conformance import claims, to_torch
from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import FLOATS, Coded

ORDER = r"order|exchanged|swapped|section|height|width|time"


class Qwen2(Coded):
    """A module built from dim and base, called with positions and sections."""

    @claims("qwen2-vl", dtype=FLOATS)
    def m_rope(self, x: Any, positions: Any, sections: Any, *, base: float) -> Any:
        """Rotate."""
        widths = [int(width) for width in sections]
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions), widths)


class Qwen3(Coded):
    """The same with interleaved sections."""

    @claims("qwen3-vl", dtype=FLOATS)
    def m_rope(self, x: Any, positions: Any, sections: Any, *, base: float) -> Any:
        """Rotate."""
        widths = [int(width) for width in sections]
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions), widths)


class Glm(Coded):
    """The same in the interleaved layout."""

    @claims("glm-4v", dtype=FLOATS)
    def m_rope(self, x: Any, positions: Any, sections: Any, *, base: float) -> Any:
        """Rotate."""
        widths = [int(width) for width in sections]
        return self.module(x.shape[-1], base)(to_torch(x), to_torch(positions), widths)


@right(Qwen2)
class Vision(nn.Module):
    """Forms the angles of all three axes; each section of channels takes those of its axis."""

    def __init__(self, dim: int, base: float) -> None:
        super().__init__()
        self.dim, self.base = dim, base
        self.register_buffer("inv_freq", self.frequencies(), persistent=False)

    def frequencies(self) -> Tensor:
        return 1.0 / (self.base ** (torch.arange(0, self.dim, 2).float() / self.dim))

    def angles(self, positions: Tensor) -> Tensor:
        return positions.float()[..., None] * self.inv_freq

    def pick(self, part: int) -> int:
        return part % 3

    def sections(self, given: list[int]) -> list[int]:
        return given

    def select(self, emb: Tensor, sections: list[int]) -> Tensor:
        parts = emb.split(self.sections(sections) * 2, dim=-1)
        return torch.cat([part[self.pick(i)] for i, part in enumerate(parts)], dim=-1)

    def forward(self, x: Tensor, positions: Tensor, sections: list[int]) -> Tensor:
        angles = self.angles(positions)
        emb = self.select(torch.cat((angles, angles), dim=-1), sections)
        x1, x2 = x.float().chunk(2, dim=-1)
        return (x.float() * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()).to(x.dtype)


@wrong(Qwen2, FORMULA, ORDER)
class VisionHeightFirst(Vision):
    """Rotates the first section by heights and the second by times."""

    def pick(self, part: int) -> int:
        return (1, 0, 2)[part % 3]


@wrong(Qwen2, FORMULA, ORDER)
class VisionWidthBeforeHeight(Vision):
    """Exchanges heights and widths."""

    def pick(self, part: int) -> int:
        return (0, 2, 1)[part % 3]


@wrong(Qwen2, FORMULA, ORDER, r"revers")
class VisionSectionsReversed(Vision):
    """Reads the sections in reverse order."""

    def sections(self, given: list[int]) -> list[int]:
        return given[::-1]


@wrong(Qwen2, FORMULA, r"time|first position|only|one position|text")
class VisionOfTimes(Vision):
    """Rotates all pairs by times, as in text."""

    def pick(self, part: int) -> int:
        return 0


@wrong(Qwen2, FORMULA, r"second half|other half|section|half|halves|not a rotation|mixed")
class VisionSecondHalfOfTimes(Vision):
    """Divides the first half of the channels into sections and rotates the second by times."""

    def pick(self, part: int) -> int:
        return part if part < 3 else 0


@wrong(Qwen2, FORMULA, r"interleav|allocation|in turn|qwen3")
class VisionInTurn(Vision):
    """Allots pairs to the axes in turn, as Qwen3-VL does."""

    def select(self, emb: Tensor, sections: list[int]) -> Tensor:
        half = emb[..., : self.dim // 2]
        chosen = half[0].clone()
        for axis in (1, 2):
            chosen[:, axis : 3 * sections[axis] : 3] = half[axis, :, axis : 3 * sections[axis] : 3]
        return torch.cat((chosen, chosen), dim=-1)


@wrong(Qwen2, FORMULA, r"section|restart|each section|own frequenc|frequenc")
class VisionFrequenciesPerSection(Vision):
    """Begins with the fastest frequency in each section."""

    def select(self, emb: Tensor, sections: list[int]) -> Tensor:
        half = emb[..., : self.dim // 2]
        chosen = torch.cat([half[i, :, :width] for i, width in enumerate(sections)], dim=-1)
        return torch.cat((chosen, chosen), dim=-1)


@wrong(Qwen2, FORMULA, r"base")
class VisionOfTenThousand(Vision):
    """Uses base 10000, whatever base is passed."""

    def frequencies(self) -> Tensor:
        return 10000.0 ** (-torch.arange(0, self.dim, 2).float() / self.dim)


@wrong(Qwen2, FORMULA, r"bfloat16|low.precision|rounded")
class VisionAnglesInBfloat16(Vision):
    """Forms angles in bfloat16."""

    def angles(self, positions: Tensor) -> Tensor:
        return (positions.bfloat16()[..., None] * self.inv_freq.bfloat16()).float()


@wrong(Qwen2, FORMULA, r"layout|interleav|neighbour")
class VisionOfNeighbours(Vision):
    """Rotates in the interleaved layout."""

    def forward(self, x: Tensor, positions: Tensor, sections: list[int]) -> Tensor:
        angles = self.angles(positions)
        emb = self.select(torch.cat((angles, angles), dim=-1), sections)[..., : self.dim // 2]
        a, b = x.float()[..., ::2], x.float()[..., 1::2]
        c, s = emb.cos(), emb.sin()
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).to(x.dtype)


@wrong(Qwen2, FORMULA, r"minus|from the first|relative|start|shift|rows stand")
class VisionFromItsFirst(Vision):
    """Subtracts the first time from all positions."""

    def angles(self, positions: Tensor) -> Tensor:
        return super().angles(positions - positions[:1, :1])


@wrong(Qwen2, FORMULA, r"largest|maxim|all three|same position|one position")
class VisionOfTheLargest(Vision):
    """Takes the largest of the three positions for all pairs."""

    def angles(self, positions: Tensor) -> Tensor:
        largest = positions.max(dim=0, keepdim=True).values
        return super().angles(largest.expand_as(positions))


@right(Qwen3)
class VisionInterleaved(Vision):
    """Rotates pairs 1, 4, 7, … by heights and 2, 5, 8, … by widths."""

    def stops(self, width: int) -> int:
        return 3 * width

    def select(self, emb: Tensor, sections: list[int]) -> Tensor:
        half = emb[..., : self.dim // 2]
        chosen = half[0].clone()
        for axis in (1, 2):
            places = slice(axis, self.stops(sections[axis]), 3)
            chosen[:, places] = half[axis, :, places]
        return torch.cat((chosen, chosen), dim=-1)


@wrong(Qwen3, FORMULA, r"section|all pairs|to the end|beyond|in turn|width|time")
class VisionInterleavedToTheEnd(VisionInterleaved):
    """Allots pairs to the axes in turn up to the last pair, beyond the sections."""

    def stops(self, width: int) -> int:
        return self.dim // 2


@wrong(Qwen3, FORMULA, r"contiguous|allocation|qwen2|section")
class VisionInterleavedIsContiguous(Vision):
    """Allots contiguous sections, as Qwen2-VL does."""


@right(Glm)
class VisionGlm(Vision):
    """Rotates in the interleaved layout, with each angle repeated."""

    def repeated(self, angles: Tensor) -> Tensor:
        return angles.repeat_interleave(2, dim=-1)

    def forward(self, x: Tensor, positions: Tensor, sections: list[int]) -> Tensor:
        angles = self.angles(positions)
        parts = angles.split(sections, dim=-1)
        emb = self.repeated(torch.cat([part[i] for i, part in enumerate(parts)], dim=-1))
        turned = torch.stack((-x.float()[..., 1::2], x.float()[..., ::2]), -1).flatten(-2)
        return (x.float() * emb.cos() + turned * emb.sin()).to(x.dtype)


@wrong(Glm, FORMULA, r"table|mixed|layout|half")
class VisionGlmRepeatedWrongly(VisionGlm):
    """Repeats the row of angles, not each angle."""

    def repeated(self, angles: Tensor) -> Tensor:
        return angles.repeat(1, 2)


@wrong(Glm, FORMULA, r"layout|half|halves")
class VisionGlmOfHalves(Vision):
    """Rotates in the half layout."""
