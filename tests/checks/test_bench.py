"""The bench counts the calls of a check, and nothing else."""

from collections.abc import Callable

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Options, checks_of
from posenc_conformance.checks.bench import Bench
from posenc_conformance.checks.execution import execute
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, Wrong
from posenc_lab.judging import schemes
from posenc_lab.miniatures.memory import Turning


def of(adapter: object) -> Subject:
    (subject,) = subjects(adapter, schemes())
    return subject


ASKING: list[Callable[[Bench, Case], object]] = [
    lambda bench, case: bench.run(case),
    lambda bench, case: bench.invoke(case, case.inputs),
    lambda bench, case: bench.hold(case, case.inputs),
    lambda bench, case: bench.changes(case),
    lambda bench, case: bench.assert_correct(case, "asked"),
    lambda bench, case: bench.assert_correct(case, "asked", case.inputs),
]


@pytest.mark.parametrize("ask", ASKING)
def test_every_kind_of_call_is_counted(ask: Callable[[Bench, Case], object]) -> None:
    bench = Bench(of(Turning()))
    case = smallest_case(bench.subject, "float64")
    for count in (1, 2):
        ask(bench, case)
        assert bench.calls == count


def test_an_unclaimed_call_is_not_made() -> None:
    bench = Bench(of(Turning()))
    case = smallest_case(bench.subject, "float64").with_arguments(base=77.0)
    bench.assert_correct(case, "not asked")
    assert bench.calls == 0


class Handing:
    """RoPE with read-only results."""

    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        result = Turning().turned(x, positions, base)
        result.flags.writeable = False
        return result


class Wide:
    """RoPE that repeats the first axis if there are more than three."""

    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        result = Turning().turned(x, positions, base)
        return np.repeat(result, 2, axis=0) if x.ndim > 3 else result


class Strided:
    """RoPE with other results for arrays that are not C-contiguous."""

    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return Turning().turned(x, positions, base) * (1 if x.flags.c_contiguous else 2)


class Doubling:
    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return 2 * x


def test_read_only_results_pass() -> None:
    subject = of(Handing())
    checks = checks_of(subject.scheme, "behaviour", [subject])
    check = next(candidate for candidate in checks if candidate.id.startswith("no-alias"))
    assert execute(check, Options(examples=1)).verdict == "passed"


def test_wrong_shapes_and_blocked_calls_are_reported_as_such() -> None:
    bench = Bench(of(Wide()))
    case = smallest_case(bench.subject, "float64")
    bench.assert_correct(case, "as it is")
    tall = case.with_arguments(x=np.ones((2, 1, *case.arguments["x"].shape)))
    for inputs in (None, tall.inputs):
        with pytest.raises(Misbehaviour, match="shape"):
            bench.assert_correct(tall, "with more axes", inputs)
    wrong = Bench(of(Doubling()))
    with pytest.raises(Blocked):
        wrong.assert_correct(smallest_case(wrong.subject, "float64"), "as it is")


def test_a_mistake_only_in_unusual_arrays_is_found() -> None:
    bench = Bench(of(Strided()))
    case = smallest_case(bench.subject, "float64")
    bench.assert_correct(case, "as it is", case.inputs)
    inputs = {**case.inputs, "x": np.asfortranarray(case.inputs["x"])}
    with pytest.raises(Wrong) as raised:
        bench.assert_correct(case, "in another order", inputs)
    assert "earlier calls" not in raised.value.text  # the message for plain arrays
