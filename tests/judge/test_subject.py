"""Cases that claims cover, and changes to a result before it is judged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.in_memory import Held, Spread, broadcast_result
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour, Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import TOO_LARGE, NotClaimed
from posenc_lab.judging import failed, judge, schemes


class Turning:
    """RoPE that returns or raises ``result``."""

    result: Any = np.zeros((2, 4))

    @claims("half", dtype=["float64", "bfloat16"], max_position=100, head_dim=[4, 6])
    def rope(self, x: Array, positions: Array, *, base: float) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def subject(result: Any = Turning.result) -> Subject:
    adapter = Turning()
    adapter.result = result
    (claimed,) = subjects(adapter, schemes())
    return claimed


def case(of: Subject, dim: int = 4, last: int = 1, dtype: str = "float64") -> Case:
    arguments = {"x": np.ones((2, dim)), "positions": np.array([0, last]), "base": 10000.0}
    return of.case(arguments, dtype)


def test_a_claim_covers_what_it_says() -> None:
    it = subject()
    assert it.dtypes == ("float64", "bfloat16")
    assert it.covers(case(it))
    assert it.covers(case(it, dim=6, last=100, dtype="bfloat16"))
    assert it.covers(case(it, last=-100))
    for other in (
        case(it, last=101),
        case(it, last=-101),
        case(it, dim=8),
        case(it, dtype="float32"),
    ):
        assert not it.covers(other)
        with pytest.raises(NotClaimed) as raised:
            it.require_claimed(other)
        assert str(raised.value) != TOO_LARGE


def test_fewer_dtypes_are_another_subject() -> None:
    it = subject()
    assert it.without([]) is it
    assert it.without(["bfloat16"]).dtypes == ("float64",)
    assert it.without(["bfloat16", "float64"]).scopes == ()


def test_a_call_that_takes_too_much_memory_is_left_out_and_noted() -> None:
    """The call takes 18 numbers in float64: 8 of x, 2 positions and 8 of the result."""
    it = subject()
    size = 8 * (8 + 2 + 8)
    enough, little = (replace(it, memory_of_a_call=limit) for limit in (size, size - 1))
    assert [*enough.runnable([case(it)])]
    assert not enough.history.too_large
    assert not [*little.runnable([case(it, last=101)])]
    assert not little.history.too_large  # it was not claimed either
    assert not little.covers(case(it))
    assert not little.history.too_large  # a query changes nothing
    assert not [*little.runnable([case(it)])]
    assert little.history.too_large
    with pytest.raises(NotClaimed, match=TOO_LARGE):
        little.require_claimed(case(it))


@pytest.mark.parametrize(("more", "asked"), [(0, True), (1, False)])
def test_a_call_may_take_half_a_gibibyte_by_default(more: int, asked: bool) -> None:
    class Bias:
        @claims("causal", dtype="float32")
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
            raise NotImplementedError

    (it,) = subjects(Bias(), schemes())
    arguments = {"heads": 1, "q_len": 2**13, "k_len": 2**13 + more}
    assert it.covers(it.case(arguments, "float32")) == asked


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (np.zeros((2, 5)), "shape"),
        (np.zeros((4, 2)), "shape"),
        (np.zeros((2, 4), np.float32), "float32"),
        (np.zeros((2, 4), np.int64), "int64"),
        (np.array([[0.0, 0, 0, np.nan], [0, 0, 0, 0]]), "(0, 3)"),
        (np.full((2, 4), np.inf), "8 of 8"),
        (None, "return missing"),
        ("text", "returned"),
        (set(), "cannot be made an array"),
    ],
)
def test_results_of_another_form_are_reported(result: Any, said: str) -> None:
    it = subject(result)
    with pytest.raises(Misbehaviour) as raised:
        it.run(case(it))
    assert said in str(raised.value)
    assert type(raised.value) is Misbehaviour


def test_a_result_of_the_right_form_is_returned_unchanged() -> None:
    it = subject()
    assert it.run(case(it)) is Turning.result


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(ValueError("no"), Refusal), (SystemExit(0), Escape), (NotImplementedError(), Refusal)],
)
def test_an_exception_is_a_refusal_or_an_escape(raised: BaseException, kind: type) -> None:
    it = subject(raised)
    with pytest.raises(Misbehaviour) as caught:
        it.run(case(it))
    assert type(caught.value) is kind
    with pytest.raises(KeyboardInterrupt):
        subject(KeyboardInterrupt()).run(case(it))


def test_the_first_calls_and_the_last_ones_are_remembered() -> None:
    it = subject(np.zeros((2, 4)))
    for last in range(100):
        it.run(case(it, last=last))
    remembered = [int(call.arguments["positions"][1]) for call in it.history.calls]
    assert remembered == [*range(16), *range(52, 100)]
    it.history.forget()
    assert it.history.calls == []


def test_large_calls_are_not_remembered() -> None:
    it = subject()
    for rows, remembers in ((256, True), (257, False)):
        arguments = {"x": np.ones((rows, 4)), "positions": np.zeros(rows, int), "base": 1e4}
        with pytest.raises(Misbehaviour):
            it.run(it.case(arguments, "float64"))
        assert bool(it.history.calls) == remembers
        it.history.forget()


@pytest.mark.parametrize(
    ("shape", "wanted", "found"),
    [
        ((3, 1, 5), (3, 4, 5), (3, 4, 5)),
        ((1, 3, 1, 5), (3, 4, 5), (3, 4, 5)),
        ((1, 1, 3, 4, 5), (3, 4, 5), (3, 4, 5)),
        ((5,), (3, 4, 5), (3, 4, 5)),
        ((2, 3, 4, 5), (3, 4, 5), (2, 3, 4, 5)),
        ((2, 1, 5), (3, 4, 5), (2, 1, 5)),
        ((1, 2, 4, 5), (3, 4, 5), (2, 4, 5)),
    ],
)
def test_repeating_axes_are_broadcast_and_other_shapes_kept(
    shape: tuple[int, ...], wanted: tuple[int, ...], found: tuple[int, ...]
) -> None:
    result = np.arange(float(np.prod(shape))).reshape(shape)
    spreaded = broadcast_result(result, wanted)
    assert spreaded.shape == found
    assert set(spreaded.reshape(-1)) == set(result.reshape(-1))


def test_a_held_result_can_be_written_unless_it_is_read_only() -> None:
    array = np.ones(3)
    held = Held(array)
    assert held.write(0)
    assert not array.any()
    assert held.now() is array
    array.flags.writeable = False
    assert not held.write(1)
    assert not array.any()


def test_a_broadcast_result_is_written_in_place() -> None:
    array = np.array([[1.0, 2.0]])
    held = Spread(Held(array), (3, 2))
    assert held.result.shape == held.now().shape == (3, 2)
    assert held.write(7)
    assert array.tolist() == [[7, 7]]
    assert held.write(held.result.copy())
    assert array.tolist() == [[1, 2]]


def test_a_finding_is_made_once_for_each_subject_and_argument() -> None:
    dtypes = []

    @once_per_subject
    def find(subject: Subject, dtype: str) -> int:
        dtypes.append(dtype)
        return len(dtypes)

    it, other = subject(), subject()
    assert [find(it, "a"), find(it, "a"), find(it, "b"), find(other, "a")] == [1, 1, 2, 3]
    it.history.forget()
    assert find(it, "a") == 4


def test_options_of_a_call_that_are_left_open_are_passed() -> None:
    class Partial:
        @claims("half", rotation="partial", dtype="float64")
        def rope(self, x: Array, positions: Array, **keywords: Any) -> Array:
            raise NotImplementedError

    (it,) = subjects(Partial(), schemes())
    positional, keywords = it.arguments(case(it), case(it).inputs)
    assert [array.shape for array in positional] == [(2, 4), (2,)]
    assert keywords["base"] == 10000
    assert keywords["layout"] == "half"
    assert it.offers({"rotation": "partial"})
    assert not it.offers({"rotation": "whole"})


class Even:
    """MusicGen's table as in its authors' code, which refuses odd channels."""

    @claims("musicgen", odd_dim="refuse")
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: Any) -> Array:
        assert dim % 2 == 0
        conventions: Any = {"layout": "cos-sin", "denominator": "d/2-1", "single_pair": "refuse"}
        return posenc.sinusoidal(positions, dim, base=base, dtype=dtype, **conventions)


class Cut:
    """A table that claims another meaning of odd channels than its combination has."""

    @claims("musicgen", odd_dim="cut")
    def sinusoidal(self, positions: Array, dim: int, **rest: Any) -> Array:
        raise NotImplementedError


def test_odd_channels_may_be_refused_where_a_combination_gives_them_a_meaning() -> None:
    verdicts = judge(Even())
    assert len(verdicts) > 20
    assert not failed(verdicts)


def test_odd_channels_have_no_other_meaning_than_that_of_the_combination() -> None:
    with pytest.raises(UserError, match="odd_dim is 'zero'"):
        subjects(Cut(), schemes())
