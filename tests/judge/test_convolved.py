"""The bound of a convolution in bfloat16 is far below its values, and above its rounding."""

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.checks.variations import sizes_of
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes
from posenc_lab.miniatures import right
from posenc_lab.miniatures.styles import RIGHT

assert right.__path__  # importing them fills the list

CONVOLUTIONS = ("conv_wav2vec2", "conv_hubert", "conv_data2vec", "conv_peg")
GARBAGE = 5.0
"""Least error, in units of the bound, of other numbers as large as the right ones."""
LOST = 10.0
"""Least error, in units of the bound, of a result without its convolution."""
ROUNDED = 0.5
"""Largest error, in units of the bound, of rounding each step to bfloat16, with sums in float32."""


def claiming(call: str) -> list[Subject]:
    """Return the right miniatures of a call in bfloat16."""
    claimed = (subject for made in RIGHT for subject in subjects(made(), schemes()))
    return [other for other in claimed if other.call.name == call and "bfloat16" in other.dtypes]


def cases(subject: Subject) -> list[Case]:
    """Return the smallest call in bfloat16, and calls of other sizes."""
    case = smallest_case(subject, "bfloat16")
    tried = [case, *(case.with_arguments(**change) for change in sizes_of(case))]
    return [candidate for candidate in tried if subject.covers(candidate)]


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_peg"])
def test_a_convolution_that_is_lost_is_seen_in_bfloat16(call: str) -> None:
    for subject in claiming(call):
        for case in cases(subject):
            assert compare(case, np.asarray(case.arguments["x"])).worst > LOST


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_peg"])
def test_sums_in_float32_are_far_within_the_bound_of_bfloat16(call: str) -> None:
    ratios = [
        compare(case, subject.run(case)).worst
        for subject in claiming(call)
        for case in cases(subject)
    ]
    assert ratios
    assert max(ratios) < ROUNDED


@pytest.mark.parametrize("call", CONVOLUTIONS)
def test_garbage_as_large_as_the_result_is_seen_in_bfloat16(call: str) -> None:
    """A bound of the size of the values would let anything pass."""
    for subject in claiming(call):
        for case in cases(subject):
            size = np.abs(case.truth).max()
            noise = np.random.default_rng(0).uniform(-size, size, case.shape)
            for garbage in (0 * case.truth, -case.truth, noise):
                assert compare(case, garbage).worst > GARBAGE
            assert np.all(case.bound < size / GARBAGE)
