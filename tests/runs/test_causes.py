"""Failures with one cause are shown once, with the number of others."""

import json
import re
from typing import Any

import pytest

from posenc_conformance.report.causes import PROPERTY, first_of_each


def failure(
    number: int,
    *names: str,
    scheme: str = "rope",
    call: str = "rope",
    combination: str = "half",
    level: str = "golden",
    worst: float | None = 8.0,
    message: str = "",
    verdict: str = "failed",
) -> pytest.TestReport:
    """Return the report of a failed check that the mistakes ``names`` explain."""
    content = {
        "id": f"check-{number}",
        "verdict": verdict,
        "scheme": scheme,
        "call": call,
        "combination": combination,
        "level": level,
        "worst": worst,
        "explanations": [[name, f"matches {name}"] for name in names],
        "message": message,
    }
    return report(number, (PROPERTY, json.dumps(content)))


def report(number: int, *properties: tuple[str, Any]) -> pytest.TestReport:
    place = ("mine.py", number, f"check {number}")
    text = f"failure {number}"
    return pytest.TestReport(
        f"check-{number}", place, {}, "failed", text, "call", user_properties=properties
    )


def shown(*failed: pytest.TestReport) -> list[tuple[str, int]]:
    """Return the check of each failure that is shown, and the number of others with its cause."""
    result = []
    for entry in first_of_each(failed):
        more = re.search(r"also +(\d+) more", str(entry.longrepr))
        result.append((entry.nodeid, int(more[1]) if more else 0))
    return result


def test_failures_of_one_mistake_are_one() -> None:
    causes = shown(*(failure(n, "wrong-base", level=f"level {n}") for n in range(3)))
    assert causes == [("check-0", 2)]


def test_an_unexpected_pass_has_no_cause() -> None:
    passed = [failure(n, verdict="passed") for n in range(2)]
    assert shown(failure(2), *passed) == [("check-2", 0), ("check-0", 0), ("check-1", 0)]


def test_a_single_failure_is_shown_as_it_is() -> None:
    (first,) = first_of_each([failure(0, "wrong-base")])
    assert first.longrepr == "failure 0"


def test_the_number_of_others_is_added_to_a_copy_only() -> None:
    failed = [failure(n, "wrong-base") for n in range(2)]
    (first,) = first_of_each(failed)
    assert str(first.longrepr).startswith("failure 0\n")
    assert [original.longrepr for original in failed] == ["failure 0", "failure 1"]


@pytest.mark.parametrize(
    "other",
    [
        failure(1, "sign-flipped"),
        failure(1, "wrong-base", call="rope_vjp"),
        failure(1, "wrong-base", scheme="rope-kernel"),
        failure(1),
        failure(1, worst=None, message="rope() raised: x"),
    ],
)
def test_other_mistakes_and_calls_are_other_causes(other: pytest.TestReport) -> None:
    causes = shown(failure(0, "wrong-base"), other, failure(2, "wrong-base"))
    assert causes == [("check-0", 1), ("check-1", 0)]


def test_the_mistake_that_explains_most_takes_all_its_failures() -> None:
    """The failure shown is the first one with that name first, not the first of all."""
    both = failure(0, "shifted", "wrong-base")
    causes = shown(both, failure(1, "wrong-base", "shifted"), failure(2, "wrong-base"))
    assert causes == [("check-1", 2)]


def test_the_first_failure_is_shown_if_none_is_named_by_the_best_mistake() -> None:
    """The mistake c explains both failures, which therefore have one cause."""
    causes = shown(failure(0, "a", "c"), failure(1, "b", "c"))
    assert causes == [("check-0", 1)]


def test_explanations_are_counted_for_each_call() -> None:
    of_one = [failure(0, "shifted", "wrong-base")]
    of_other = [failure(n, "wrong-base", call="rope_vjp") for n in (1, 2)]
    assert shown(*of_one, *of_other) == [("check-0", 0), ("check-1", 1)]
    apart = [failure(n, name) for n, name in enumerate(("shifted", "wrong-base", "wrong-base"))]
    assert shown(*apart) == [("check-0", 0), ("check-1", 1)]


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({}, True),
        ({"message": "other words"}, True),
        ({"combination": "interleaved"}, False),
        ({"level": "precision"}, False),
        ({"call": "rope_vjp"}, False),
        ({"scheme": "rope-kernel"}, False),
    ],
)
def test_wrong_numbers_without_a_name_are_one_cause_per_level(
    change: dict[str, Any], alike: bool
) -> None:
    assert len(shown(failure(0), failure(1, **change))) == 2 - alike


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({"message": "invariant: raised ValueError: x\nelsewhere"}, True),
        ({"message": "golden: raised TypeError: x"}, False),
        ({"message": "golden: raised ValueError: y"}, False),
        ({"call": "rope_vjp"}, False),
        ({"scheme": "rope-kernel"}, False),
        ({"level": "precision"}, True),
    ],
)
def test_calls_that_raise_the_same_are_one_cause(change: dict[str, Any], alike: bool) -> None:
    first: dict[str, Any] = {"worst": None, "message": "golden: raised ValueError: x\nhere"}
    assert len(shown(failure(0, **first), failure(1, **{**first, **change}))) == 2 - alike


def test_messages_of_one_line_are_compared_too() -> None:
    messages = ("golden: raised x", "golden: raised y", "smoke: raised x")
    assert shown(*(failure(n, worst=None, message=text) for n, text in enumerate(messages))) == [
        ("check-0", 1),
        ("check-1", 0),
    ]


def test_other_tests_are_causes_of_their_own() -> None:
    assert shown(report(0), report(1), report(2, ("another", {}))) == [
        ("check-0", 0),
        ("check-1", 0),
        ("check-2", 0),
    ]
