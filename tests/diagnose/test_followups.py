"""Follow-up calls: how their answers support or refute a mistake."""

from math import prod
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.diagnose import followups
from posenc_conformance.diagnose.diagnosis import Fit, is_result_of
from posenc_conformance.diagnose.followups import FollowUp, Small, round_constant
from posenc_conformance.diagnose.rules import diagnose_subject
from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Constant
from posenc_lab.judging import schemes

OTHER: Constant = ("base", 500.0)
WORDS = "matches base 500; 10000 was asked for"


def rope(dim: int = 4, base: float = 10000.0) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": fine((4, dim)) + 1, "positions": np.arange(4), "base": base}
    return Case(scheme, call, call.combinations["half"].conventions, arguments, "float64")


def fit(*constants: Constant | None, deviation: str = "wrong-base", residual: float = 0.5) -> Fit:
    return Fit(deviation, WORDS, residual, None, constants)


def witness(case: Case, off: float = 0.0, wrong: bool = True, **found: Any) -> FollowUp:
    """Return an answer with another base, ``off`` bounds away from it."""
    other = case.with_arguments(base=500.0)
    output = np.asarray(other.truth) + off * case.bound
    return FollowUp(case, output, wrong, **found)


def test_a_mistake_found_in_an_answer_explains_it() -> None:
    here = fit(OTHER)
    name = ("wrong-base", (OTHER,))
    assert witness(rope(), names={name: here}).explained(name, fit(OTHER, residual=0.1)) is here


def test_a_constant_from_elsewhere_explains_answers_within_the_bound() -> None:
    name = ("wrong-base", (OTHER,))
    for off, explains in ((0.0, True), (0.6, True), (1.5, False)):
        explanation = witness(rope(), off).explained(name, fit(OTHER))
        assert (explanation is not None) == explains
        if explanation is not None:
            assert abs(explanation.residual - off) < 0.1
            assert explanation.explanation == WORDS.partition(";")[0]
    assert (
        witness(rope()).explained(("wrong-base", (("base", 400.0),)), fit(("base", 400.0))) is None
    )


def test_a_mistake_without_a_constant_explains_only_its_own_answer() -> None:
    name = ("degrees", (None,))
    assert witness(rope()).explained(name, fit(None, deviation="degrees")) is None


def test_one_of_two_mistakes_may_be_all_that_shows() -> None:
    pair = ("degrees+wrong-base", (None, OTHER))
    alone = fit(OTHER, residual=0.25)
    here = witness(rope(), names={("wrong-base", (OTHER,)): alone})
    explanation = here.explained(pair, fit(None, OTHER, deviation=pair[0]))
    assert explanation is not None
    assert (explanation.deviation, explanation.residual) == (pair[0], 0.25)
    assert witness(rope()).explained(pair, fit(None, OTHER, deviation=pair[0])) is None


def test_a_right_answer_refutes_a_mistake_that_would_show_in_it() -> None:
    right = FollowUp(rope(), np.asarray(rope().truth), False)
    assert right.refutes(fit(OTHER))
    assert not right.refutes(fit(None))
    one_pair = rope(dim=2)  # which turns at 1, whatever the base
    assert not FollowUp(one_pair, np.asarray(one_pair.truth), False).refutes(fit(OTHER))
    mistake = fit(None).mistake
    answer = FollowUp(one_pair, one_pair.truth, False, excluded=frozenset({mistake}))
    assert answer.refutes(fit(None))


def test_names_are_counted_among_wrong_answers_only() -> None:
    name = ("wrong-base", (OTHER,))
    three = (
        witness(rope(), names={name: fit(OTHER)}),
        witness(rope(dim=6)),
        witness(rope(dim=8), off=5.0),
        FollowUp(rope(), np.asarray(rope().truth), False),
    )
    seen = followups.FollowUps(three, False)
    assert len(seen.wrong) == 3
    assert seen.counts == {name: 2}


def test_estimated_constants_are_equal_to_three_digits() -> None:
    assert round_constant(("base", 499.8)) == round_constant(("base", 500.2)) == ("base", 500.0)
    assert round_constant(("base", 502.0)) == ("base", 502.0)
    assert round_constant(None) is None
    near, other = fit(("base", 499.8)), fit(("base", 500.2), residual=0.9)
    assert followups.FollowUps((), False).by_name([near, other]) == {("wrong-base", (OTHER,)): near}
    assert followups.FollowUps((), True).by_name([near]) == {("wrong-base", (None,)): near}


def test_follow_up_calls_are_small() -> None:
    drawn = [Small(seed) for seed in range(40)]
    assert {choices.one_of(range(100)) for choices in drawn} == set(range(5))
    numbers = {choices.integer(10, 1000) for choices in drawn}
    assert min(numbers) >= 10
    assert max(numbers) <= 22
    assert {choices.integer(10, 11) for choices in drawn} == {10, 11}


@pytest.mark.slow
def test_every_follow_up_call_is_claimed() -> None:
    widths = []

    class Few:
        @claims("half", dtype="float64", when=lambda head_dim: head_dim < 64)
        def rope(self, x: Array, positions: Array, **named: Any) -> Array:
            widths.append(x.shape[-1])
            return 2 * x

    (subject,) = subjects(Few(), schemes())
    seen = followups.ask_followups(subject, "float64")
    assert len(seen.answers) == len(seen.wrong) > 0
    assert max(widths) < 64


class Doubled:
    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, **named: Any) -> Array:
        return 2 * x


def test_goldens_are_called_up_to_a_size() -> None:
    (subject,) = subjects(Doubled(), schemes())
    sizes = sorted({prod(case.shape) for case in followups._goldens(subject, "float64", 2**20)})
    middle = sizes[len(sizes) // 2]
    called = {prod(case.shape) for case in followups._goldens(subject, "float64", middle)}
    assert called == {size for size in sizes if size <= middle}


@pytest.mark.parametrize(
    ("layout", "names"), [("half", []), ("interleaved", ["layout-swapped+sign-flipped"])]
)
def test_two_mistakes_may_show_only_far_out(layout: str, names: list[str]) -> None:
    """A mistake that would also show in small calls is refuted by their answers."""

    class Far:
        @claims("half", dtype="float64")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            if np.max(positions, initial=0) > 99:
                return posenc.rope(x, -positions, base=base, layout=layout)
            return posenc.rope(x, positions, base=base, layout="half")

    (subject,) = subjects(Far(), schemes())
    arguments = {"x": fine((4, 8)) + 1, "positions": np.arange(100, 104), "base": 10000.0}
    case = subject.case(arguments, "float64")
    fits = followups.fits_of_one(subject, case, subject.run(case))
    assert [fit.deviation for fit in fits] == names


@pytest.mark.parametrize(("wrong", "explained", "found"), [(2, 1, False), (3, 2, True)])
def test_a_name_for_half_of_the_wrong_answers_is_not_common_to_them(
    wrong: int, explained: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (subject,) = subjects(Doubled(), schemes())
    name = ("degrees", (("base", 500.0),))
    here: dict[str, Any] = {"names": {name: fit(OTHER)}, "words": {name: frozenset({WORDS})}}
    witnesses = [witness(rope(), 9.0, **here) for _ in range(explained)]
    others = [witness(rope(), 9.0) for _ in range(wrong - explained)]
    seen = followups.FollowUps((*witnesses, *others), False)
    monkeypatch.setattr(followups, "ask_followups", lambda subject, dtype: seen)
    monkeypatch.setattr(followups, "_printed", lambda subject, dtype: [])
    assert followups.common_names(subject, "float64") == [name] * found


@pytest.mark.parametrize(
    ("most", "words"),
    [(99, "queries that start at position 0"), (1, "a single query that stands at position 0")],
)
def test_words_for_one_query_are_kept_to_calls_of_one(most: int, words: str) -> None:
    """Queries that all start at 0 have the same words in a call of one of them."""

    class FromZero:
        @claims("symmetric", dtype="float32", max_position=99)
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
            late = 0 if q_len <= most else k_len - q_len
            lag = late + np.arange(q_len)[:, None] - np.arange(k_len)
            slopes = np.asarray(posenc.alibi_slopes(heads))[:, None, None]
            return np.asarray(-slopes * np.abs(lag), np.float32)

    (subject,) = subjects(FromZero(), schemes())
    case = subject.case({"heads": 2, "q_len": 1, "k_len": 6}, "float32")
    said = diagnose_subject(subject, case, subject.run(case).astype(np.float64))
    assert said.explanations[0] == ("queries-from-zero", f"matches {words}")


def test_a_mask_is_that_of_another_call_only_if_it_differs_from_the_right_one() -> None:
    scheme = next(candidate for candidate in schemes() if candidate.id == "sliding-window")
    call = scheme.calls["sliding_window"]
    conventions = call.combinations["window-keys"].conventions
    given = {"q_len": 4, "k_len": 4, "window": 2}
    case, wider = (
        Case(scheme, call, conventions, {**given, "window": window}, "float32") for window in (2, 3)
    )
    assert is_result_of(case, np.asarray(wider.truth, np.float64), wider)
    assert not is_result_of(case, np.asarray(case.truth, np.float64), wider)
