"""What ``check`` takes, and the words for what it does not: pairs, first positions, masks."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import adapters, check, expected
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.errors import apart
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.trial import First, Trial
from posenc_conformance.pictures.picture import Lines, line
from posenc_conformance.pictures.svg import describe
from posenc_conformance.testing.signatures import Misuse
from posenc_lab.judging import schemes

Q = np.random.default_rng(7).standard_normal((2, 4, 9, 16)).astype(np.float32)
K = np.random.default_rng(8).standard_normal((2, 2, 9, 16)).astype(np.float32)
PLACES = np.arange(9)
TURNED: dict[str, Any] = {"positions": PLACES, "base": 10_000.0, "layout": "half"}
SEVERAL = "check takes one array for {}(), and the result is a {} of several"


def turned(x: Any, **changed: Any) -> Any:
    return expected("rope", x=x, dtype="float32", **{**TURNED, **changed})


def both(result: Any) -> Any:
    return check(result, "rope_query_key", q=Q[0], k=K[0], **TURNED)


@pytest.mark.parametrize("result", [(Q, K), (Q, Q), [Q, K, Q]], ids=["pair", "alike", "three"])
def test_a_pair_for_one_result_is_told_first_and_so_is_the_call_of_pairs(result: Any) -> None:
    with pytest.raises(AssertionError) as raised:
        check(result, "rope", x=Q, **TURNED)
    first, second, *_ = str(raised.value).splitlines()
    assert first == SEVERAL.format("rope", type(result).__name__)
    assert "'rope_query_key'" in second
    assert "inhomogeneous" not in str(raised.value)


def test_a_call_without_one_of_pairs_is_not_sent_to_that_of_rope() -> None:
    given: dict[str, Any] = {"positions": PLACES, "base": 10_000.0, "factor": 4.0, "layout": "half"}
    with pytest.raises(AssertionError, match="check takes one array for position_") as raised:
        check((Q, K), "position_interpolation", x=Q, **given)
    assert "rope_query_key" not in str(raised.value)


def test_the_parts_of_one_result_may_be_listed_and_keep_the_name_of_a_mistake() -> None:
    assert check(list(turned(Q)), "rope", x=Q, **TURNED).worst <= 1
    with pytest.raises(AssertionError, match=r"^matches positions shifted by \+1"):
        check(list(turned(Q, positions=PLACES + 1)), "rope", x=Q, **TURNED)


@pytest.mark.parametrize("third", [K[0], np.float32(1.0)], ids=["values", "a number"])
def test_a_third_array_beside_queries_and_keys_is_not_ignored(third: Any) -> None:
    pair = turned(Q[0]), turned(K[0])
    assert both(pair).worst <= 1
    assert both((*pair, None)).worst <= 1
    for result in ((*pair, third), [*pair, third]):
        with pytest.raises(Misuse, match=r"has 3 arrays\n.*check\(result\[:2\], 'rope_query_key'"):
            both(result)


@pytest.mark.parametrize("word", ["offset", "start_pos"])
@pytest.mark.parametrize("starts", [[3, 40], np.array([3, 40])], ids=["a list", "an array"])
def test_several_first_positions_lead_to_the_call_that_takes_them(word: str, starts: Any) -> None:
    given: dict[str, Any] = {"base": 10_000.0, "layout": "half"}
    with pytest.raises(Misuse, match=f"'rope_offsets', which takes offsets={word}"):
        check(Q, "rope", x=Q, **{word: starts}, **given)
    places = np.asarray(starts)[:, None] + PLACES
    right = turned(Q, positions=places)
    assert check(right, "rope_offsets", x=Q, offsets=np.asarray(starts), **given).worst <= 1
    assert check(right, "rope", x=Q, positions=places, **given).worst <= 1
    three: dict[str, Any] = {word: 3}
    assert check(turned(Q, positions=PLACES + 3), "rope", x=Q, **three, **given).worst <= 1


def test_several_first_positions_of_another_call_lead_to_positions() -> None:
    given: dict[str, Any] = {"base": 10_000.0, "factor": 4.0, "layout": "half"}
    with pytest.raises(Misuse, match=r"positions=np.asarray\(offset\)\[:, None\]") as raised:
        check(Q, "position_interpolation", x=Q, offset=np.array([3, 40]), **given)
    assert "rope_offsets" not in str(raised.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("low", [-np.inf, -10_000.0])
def test_a_mask_that_is_added_is_told_how_to_be_judged(dtype: Any, low: float) -> None:
    sizes: dict[str, Any] = {"q_len": 6, "k_len": 6}
    seen = expected("causal_mask", **sizes)
    added = np.where(seen, 0.0, low).astype(dtype)
    with pytest.raises(AssertionError, match=r"mask == 0, or adapters\.mask\(…, additive=True\)"):
        check(added, "causal_mask", **sizes)
    assert check(added == 0, "causal_mask", **sizes).compared == seen.size


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (lambda seen: seen.astype(int), "mask.astype(bool) for ones and zeros"),
        (lambda seen: seen.astype(float), "mask.astype(bool) for ones and zeros"),
        (lambda seen: np.where(seen, 0.5, -3.0), "expected booleans: True is where"),
    ],
)
def test_other_numbers_are_no_mask_that_is_added(numbers: Any, said: str) -> None:
    seen = expected("causal_mask", q_len=6, k_len=6)
    with pytest.raises(AssertionError) as raised:
        check(numbers(seen), "causal_mask", q_len=6, k_len=6)
    assert said in str(raised.value)
    assert "additive" not in str(raised.value)


def test_an_adapter_of_a_mask_that_is_added_is_told_so_too() -> None:
    def added(q_len: int, k_len: int) -> Any:
        return np.where(np.tri(q_len, k_len, k_len - q_len), 0.0, -np.inf).astype(np.float32)

    for additive in (False, True):
        (subject,) = subjects(adapters.mask(added, additive=additive), schemes())[:1]
        trial = Trial(subject, subject.scopes[0], "boolean", {}, First())
        case = trial.case(**subject.knowledge.arguments(trial))
        if additive:
            assert np.array_equal(subject.run(case), case.truth)
        else:
            with pytest.raises(Misbehaviour, match="additive=True"):
                subject.run(case)


def test_numbers_that_differ_are_written_with_the_digits_that_differ() -> None:
    assert apart(0.74989, 0.74991) == ["0.74989", "0.74991"]
    assert apart(0.7499, 0.5) == ["0.7499", "0.5"]
    assert apart(0.5, 0.5) == ["0.5", "0.5"]
    assert apart(1 + 2**-52, 1.0) == ["1.0000000000000002", "1"]
    assert len(set(apart(np.nan, np.nan))) == 1


def test_a_picture_never_says_one_number_where_itself_is_asked() -> None:
    def told(found: float) -> str:
        asked = line("asked", (0, 1), (1.0, 0.74989))
        return describe(Lines("", "pair", "frequency", (asked, line("found", (0, 1), (1, found)))))

    assert "they are the same." in told(0.74989)
    assert "they are the same but for rounding." in told(0.74989 * (1 + 1e-9))
    assert "0.74993 where 0.74989 is asked" in told(0.74993)
    assert "0.5 where 0.7499 is asked" in told(0.5)
