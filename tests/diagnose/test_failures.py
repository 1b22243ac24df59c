"""How failures read: the call, places by name, each cause once, and dtypes."""

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_lab.judging import Verdict, failed, judge, schemes

pytestmark = pytest.mark.remembered(shipped=True)


class Adapter:
    """RoPE by the reference, spoiled by subclasses."""

    @claims("half", head_dim=8, base=10000.0)
    def rope(self, x: Array, positions: Array) -> Array:
        return self.spoiled(x, positions)

    def spoiled(self, x: Array, positions: Array) -> Array:
        raise NotImplementedError

    def turned(self, x: Array, positions: Array) -> Array:
        return posenc.rope(x, positions, base=10000.0, layout="half")


class ChangesItsInput(Adapter):
    def spoiled(self, x: Array, positions: Array) -> Array:
        result = self.turned(x, positions)
        x += 1
        return result


class HandsOutItsInput(Adapter):
    def spoiled(self, x: Array, positions: Array) -> Array:
        return self.turned(x, positions) if positions.any() else x


class RaisesOnInt32(Adapter):
    def spoiled(self, x: Array, positions: Array) -> Array:
        if positions.dtype == np.int32:
            raise TypeError("int64 only")
        return self.turned(x, positions)


class Forgets(Adapter):
    calls = 0

    def spoiled(self, x: Array, positions: Array) -> Array:
        self.calls += 1
        return self.turned(x, positions + (self.calls > 5))


class Raises(Adapter):
    def spoiled(self, x: Array, positions: Array) -> Array:
        raise ValueError("no such kernel")


def names(verdicts: list[Verdict]) -> set[str]:
    return {verdict.check.id.partition("[")[0] for verdict in verdicts}


@pytest.mark.slow
def test_a_call_that_changes_its_input_is_not_said_to_share_it() -> None:
    assert "inputs-untouched" in names(failed(judge(ChangesItsInput(), ["behaviour"])))
    assert "no-alias" not in names(failed(judge(ChangesItsInput(), ["behaviour"])))
    assert names(failed(judge(HandsOutItsInput(), ["behaviour"]))) == {"no-alias"}


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [ChangesItsInput, RaisesOnInt32, Forgets, Raises])
def test_every_failure_shows_the_call(adapter: type[Adapter]) -> None:
    bad = failed(judge(adapter(), ["smoke", "golden", "behaviour", "invariant", "precision"]))
    assert bad
    for verdict in bad:
        lines = verdict.text.splitlines()
        assert any("rope(x=array(" in line for line in lines), verdict.text


def test_a_pattern_names_distances_and_not_their_indices() -> None:
    scheme = next(scheme for scheme in schemes() if scheme.id == "t5-bias")
    call = scheme.calls["t5_bucket"]
    distances = np.array([-300, -20, -3, 0, 1, 5])
    arguments = {"relative_position": distances, "num_buckets": 32, "max_distance": 128}
    combination = next(iter(call.combinations.values()))
    case = Case(scheme, call, combination.conventions, arguments, "integer")
    wrong = case.truth + (distances < -10)
    described = pattern(case, wrong.astype(np.float64), KINDS["bucket"].axes)
    assert described.startswith("distance -300, -20")


class NarrowsFloat64:
    """RoPE that returns float32 for every dtype."""

    base = 10000.0

    @claims("half", dtype=["float64", "float32"], head_dim=[8, 64])
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        result = posenc.rope(x, positions, base=base * self.base / 10000.0, layout="half")
        return np.asarray(result, dtype=np.float32)


class NarrowsAnotherBase(NarrowsFloat64):
    base = 10001.0


class WidensBfloat16:
    """RoPE that returns float64 for bfloat16, with wrong values."""

    @claims("half", dtype=["float32", "bfloat16", "float16"], head_dim=[8, 64])
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        if x.dtype.name != "bfloat16":
            return np.asarray(posenc.rope(x, positions, base=base, layout="half"))
        wide = x.astype(np.float64)
        return np.asarray(posenc.rope(wide, positions + 1, base=base, layout="half"))


class NarrowsAndMisturnsFar(NarrowsFloat64):
    """RoPE that is also wrong in float32, which only drawn calls show."""

    @claims("half", dtype=["float64", "float32"], head_dim=[8, 64])
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        result = NarrowsFloat64.rope(self, x, positions, base=base)
        return result if positions.size < 2 else result * np.float32(1.001)


def verdicts_of(adapter: object, dtype: str) -> set[str]:
    return {
        str(verdict.verdict)
        for verdict in judge(adapter, ["golden", "precision"])
        if verdict.check.dtype == dtype
    }


@pytest.mark.slow
def test_one_wrong_dtype_leaves_the_others_to_be_judged() -> None:
    assert verdicts_of(NarrowsFloat64(), "float64") == {"blocked"}
    assert verdicts_of(NarrowsFloat64(), "float32") == {"passed"}
    drawn = judge(NarrowsFloat64(), ["invariant", "behaviour"])
    assert {str(verdict.verdict) for verdict in drawn} == {"passed"}
    drawn = judge(NarrowsAndMisturnsFar(), ["invariant"])
    assert "failed" in {str(verdict.verdict) for verdict in drawn}


@pytest.mark.slow
def test_a_wider_dtype_leaves_the_others_to_be_judged() -> None:
    assert verdicts_of(WidensBfloat16(), "bfloat16") == {"blocked"}
    for dtype in ("float32", "float16"):
        assert verdicts_of(WidensBfloat16(), dtype) == {"passed"}
    (wrong,) = failed(judge(WidensBfloat16(), ["smoke", "golden", "invariant", "behaviour"]))
    assert wrong.check.dtype == "bfloat16"
    for words in ("returned float64; expected bfloat16", "wrong as well, even as bfloat16"):
        assert words in wrong.text
    assert "positions" in wrong.text.split("even as bfloat16")[1]


@pytest.mark.parametrize(
    ("adapter", "words"),
    [
        (NarrowsFloat64, ["returned float32; expected float64", "right, as float32"]),
        (NarrowsAnotherBase, ["returned float32; expected float64", "wrong as well", "base"]),
    ],
)
def test_values_of_a_wrong_dtype_are_judged(adapter: type, words: list[str]) -> None:
    (wrong,) = (
        entry for entry in failed(judge(adapter(), ["smoke"])) if entry.check.dtype == "float64"
    )
    for entry in words:
        assert entry in wrong.text
