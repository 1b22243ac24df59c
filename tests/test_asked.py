"""The kit asks what it asked before: a check that asks less, unseen, is no check any more.

Where it is meant to ask something else, ``python -m tests.asked`` writes it down anew.
"""

import pytest

from tests.asked import CALLS, asked, kept

KEPT = kept()


@pytest.mark.parametrize(("call", "combination"), CALLS, ids=[call for call, _ in CALLS])
def test_what_is_asked_is_what_was_asked(call: str, combination: str) -> None:
    found = asked(call, combination)
    assert list(found) == list(KEPT[call])
    for check, told in found.items():
        assert told == KEPT[call][check], check


def test_right_answers_pass_and_none_was_written_down_that_did_not() -> None:
    assert {call for call, _ in CALLS} == KEPT.keys()
    verdicts = {told["verdict"] for checks in KEPT.values() for told in checks.values()}
    assert verdicts == {"passed"}
