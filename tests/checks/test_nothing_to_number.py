"""Code that refuses to number no tokens is not wrong; code that refuses some is."""

from typing import Any

import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import failed, judge


class Joins:
    """Joins the ids of segments, and so needs one segment at least."""

    least = 1

    @claims("spatial")
    def m_rope_position_ids(self, segments: Array, **settings: Any) -> Array:
        if len(segments) < self.least:
            raise ValueError("need at least one array to concatenate")
        return posenc.m_rope_position_ids(segments, **settings)


class NeedsTwo(Joins):
    least = 2


@pytest.mark.slow
@pytest.mark.parametrize(("adapter", "is_right"), [(Joins, True), (NeedsTwo, False)])
def test_refusing_to_number_nothing_is_no_failure(adapter: type[Joins], is_right: bool) -> None:
    wrong = failed(judge(adapter(), ("smoke", "invariant", "behaviour")))
    assert (not wrong) == is_right, [verdict.text for verdict in wrong]
