"""Mistakes with wav2vec 2.0's convolution that no wrong miniature makes."""

from posenc_conformance.families.layers import gelu
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.conv_wav2vec2 import argument, per_tap
from posenc_lab.golden_mistakes.common import Mistake


def always_dropped(case: Case) -> Array:
    """The padding of kernels that are odd, made as if they were even and one longer."""
    kernel = case.arguments["weight_v"].shape[-1]
    return case.arguments["x"] + gelu(argument(case, per_tap(case), (kernel + 1) // 2))


MISTAKES: dict[str, Mistake] = {"odd-kernel": always_dropped}
