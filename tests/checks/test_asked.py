"""The kit makes the same calls as before: a check that silently makes fewer checks nothing.

After an intended change, ``python -m tests.asked`` stores new digests.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posenc_conformance.checks import LEVELS, Options, checks_of
from posenc_conformance.checks.execution import execute
from tests import asked as bench
from tests.asked import CALLS, COMMAND, asked, demand_passed, digest_of, kept, lines_of, subject_of

KEPT = kept()
PASSED = {"smoke::callable": {"verdict": "passed", "calls": 1, "values": 7, "largest": "8 6"}}


@pytest.mark.slow
@pytest.mark.parametrize(("call", "combination"), CALLS, ids=[call for call, _ in CALLS])
def test_calls_are_those_recorded(call: str, combination: str) -> None:
    record = asked(call, combination)
    demand_passed(call, record)
    assert digest_of(record) == KEPT[call], (
        f"{call} is asked something else: compare the lines of `{COMMAND} {call}` with those of "
        f"the last commit; `{COMMAND}` writes the digests anew"
    )


@pytest.mark.slow
def test_rope_is_asked_for_few_shapes() -> None:
    """JAX compiles each new one, which takes far longer than the call."""
    shapes: set[tuple[Any, ...]] = set()
    subject, _calls = subject_of("rope", "half")

    def method(x: Any, positions: Any, **parameters: Any) -> Any:
        shapes.add((x.shape, x.dtype, np.shape(positions), positions.dtype))
        return subject.method(x, positions, **parameters)

    in_one_dtype = replace(subject.without({"float16"}), method=method)
    for level in LEVELS:
        for check in checks_of(subject.scheme, level, [in_one_dtype]):
            execute(check, Options())
    assert 40 < len(shapes) < 80


def test_every_call_is_recorded() -> None:
    assert [call for call, _ in CALLS] == list(KEPT)


@pytest.mark.parametrize(
    "change", [{"verdict": "failed"}, {"calls": 0}, {"values": 8}, {"largest": "8 5"}]
)
def test_a_digest_depends_on_every_field(change: dict[str, object]) -> None:
    (check,) = PASSED
    assert digest_of({check: {**PASSED[check], **change}}) != digest_of(PASSED)
    assert digest_of({**PASSED, "smoke::other": PASSED[check]}) != digest_of(PASSED)


def test_a_failed_check_is_not_recorded() -> None:
    with pytest.raises(AssertionError, match=f"a_call: one: see {COMMAND} a_call"):
        demand_passed("a_call", {"one": {"verdict": "failed"}})


def test_a_reviewer_sees_a_line_for_each_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "asked", lambda *_: PASSED)
    bench.main(["rope"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in shown] == ["rope:", *lines_of(PASSED)]
    with pytest.raises(SystemExit, match="not among"):
        bench.main(["ropes"])
