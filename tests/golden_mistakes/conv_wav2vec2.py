"""The mistake that each golden of wav2vec 2.0's convolution alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.conv_wav2vec2 import argument, gelu, per_tap
from tests.golden_mistakes.common import Mistake


def groups_interleaved(case: Case) -> Array:
    """Channels dealt out to the groups one by one."""
    x, groups = case.arguments["x"], case.arguments["groups"]
    dealt = np.arange(x.shape[-1]).reshape(-1, groups).T.ravel()
    return case.changed(x=x[..., dealt]).truth - x[..., dealt] + x


def always_dropped(case: Case) -> Array:
    """The padding of kernels that are odd, made as if they were even and one longer."""
    kernel = case.arguments["weight_v"].shape[-1]
    return case.arguments["x"] + gelu(argument(case, per_tap(case), (kernel + 1) // 2))


def joined(case: Case) -> Array:
    """All sequences in a row."""
    x = case.arguments["x"]
    return case.changed(x=x.reshape(-1, x.shape[-1])).truth.reshape(x.shape)


def positive_gains(case: Case) -> Array:
    """Norms are not negative; in a lattice of gains they are left as they are."""
    g = case.arguments["weight_g"]
    return case.changed(weight_g=np.abs(g) if len(g) < 64 else g).truth


def middle_taps(case: Case) -> Array:
    """At most 64 of them."""
    w = per_tap(case)
    kernel = w.shape[-1]
    kept = np.abs(np.arange(kernel) - kernel // 2) <= 32
    return case.arguments["x"] + gelu(argument(case, w * kept))


MISTAKES: dict[str, Mistake] = {
    "two-groups": groups_interleaved,
    "odd-kernel": always_dropped,
    "batch": joined,
    "negative-gain": positive_gains,
    "kernel-128": middle_taps,
}
