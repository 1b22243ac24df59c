"""Practices with which the kit is compared: they accept exact results."""

import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.implementations.reference import Reference
from posenc_lab.judging import schemes
from posenc_lab.practices import LIBRARIES, USUAL, Asked, OutOfReach, Practice


@pytest.mark.slow
@pytest.mark.parametrize("practice", [*USUAL, *LIBRARIES], ids=lambda entry: entry.name)
def test_the_reference_is_accepted(practice: Practice) -> None:
    count = 0
    for subject in subjects(Reference(), schemes()):
        for dtype in set(subject.dtypes) & set(practice.dtypes):
            try:
                accepted = practice.accepts(Asked(subject, dtype))
            except OutOfReach:
                continue
            assert accepted, f"{subject.call.name} {subject.label} in {dtype}"
            count += 1
    assert count
