"""Right code with limits: a claim states them, and no call goes beyond."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.errors import UserError
from posenc_lab.judging import Verdict, judge
from posenc_lab.miniatures.styles import FLOATS, Array

pytestmark = pytest.mark.remembered(shipped=True)


class TableOfPositions:
    """Cosines and sines from a table as long as the claim's ``max_position``."""

    @claims("half", max_position=2047)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return posenc.rope(x, np.arange(2048)[positions], base=base, layout="half")


class SquareBias:
    """ALiBi for equal numbers of queries and keys."""

    @claims("symmetric", when=lambda q_len, k_len: q_len == k_len)
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
        assert q_len == k_len
        return posenc.alibi_bias(heads, q_len, k_len, form="symmetric", dtype=np.float32)


class AlwaysPartial:
    """A kernel for heads of 256 channels, of which the first 128 turn."""

    @claims(
        "half",
        rotation="partial",
        head_dim=256,
        rotary_dim=128,
        when=lambda rotary_dim: rotary_dim is not None,
    )
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        assert (x.shape[-1], rotary_dim) == (256, 128)
        return posenc.rope(x, positions, base=base, layout="half", rotary_dim=rotary_dim)


class HalfOfTheHead:
    """RoPE whose ``rotary_dim`` must be half of ``head_dim``."""

    @claims(
        "half", rotation="partial", when=lambda head_dim, rotary_dim: rotary_dim == head_dim / 2
    )
    def rope(self, x: Array, positions: Array, *, base: float, rotary_dim: int) -> Array:
        assert 2 * rotary_dim == x.shape[-1]
        return posenc.rope(x, positions, base=base, layout="half", rotary_dim=rotary_dim)


class LengthOfPositions:
    """Dynamic NTK that reads the length from the positions."""

    @claims("half", when=lambda positions, length: positions.max(initial=0) + 1 == length)
    def dynamic_ntk(self, x: Array, positions: Array, **keywords: Any) -> Array:
        keywords["length"] = int(positions.max(initial=0)) + 1
        result: Array = posenc.dynamic_ntk(x, positions, **{**keywords, "layout": "half"})
        return result


class SquareGrid:
    """Patches of a square image."""

    @claims("mae", when=lambda height, width: height == width)
    def sincos_2d(self, height: int, width: int, dim: int, **keywords: Any) -> Array:
        assert height == width
        return posenc.sincos_2d(height, width, dim, **{"dtype": np.float32, **keywords})


class RefusesShortRamps:
    """YaRN that declines some widths with NotImplementedError."""

    @claims("code-half")
    def yarn(self, x: Array, positions: Array, **keywords: Any) -> Array:
        if x.shape[-1] % 32:
            raise NotImplementedError("head_dim must be a multiple of 32")
        result: Array = posenc.yarn(x, positions, **keywords)
        return result


LIMITED = [
    TableOfPositions,
    SquareBias,
    AlwaysPartial,
    HalfOfTheHead,
    LengthOfPositions,
    SquareGrid,
    RefusesShortRamps,
]


@pytest.mark.slow
@pytest.mark.parametrize("adapter", LIMITED, ids=lambda entry: entry.__name__)
def test_right_code_passes_within_its_limits(adapter: Callable[[], object]) -> None:
    verdicts = judge(adapter())
    assert not wrong(verdicts), wrong(verdicts)[0].text
    assert {"smoke", "invariant", "behaviour"} <= {
        entry.check.level for entry in verdicts if entry.verdict == "passed"
    }


@pytest.mark.slow
@pytest.mark.parametrize("adapter", LIMITED, ids=lambda entry: entry.__name__)
def test_wrong_code_is_found_within_the_same_limits(adapter: type) -> None:
    (name,) = (name for name in vars(adapter) if not name.startswith("_"))
    right = getattr(adapter, name)

    def off(self: object, *arguments: Any, **keywords: Any) -> Any:
        result: Array = right(self, *arguments, **keywords)
        return result * np.asarray(1.001, result.dtype)

    off.__dict__.update(vars(right))
    assert wrong(judge(type("Off", (), {name: off})()))


def wrong(verdicts: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.verdict in ("failed", "blocked")]


@pytest.mark.slow
def test_refused_calls_are_counted_with_their_reason() -> None:
    reasons = {entry.outcome.left_out for entry in judge(RefusesShortRamps())} - {""}
    assert reasons
    assert all("head_dim must be a multiple of 32" in entry for entry in reasons)


def test_an_adapter_that_declines_everything_fails() -> None:
    class Nothing:
        @claims("half", dtype=FLOATS)
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            raise NotImplementedError

    assert {run.verdict for run in judge(Nothing(), ["smoke", "golden"])} == {"failed", "blocked"}


def test_no_call_exceeds_the_largest_allowed_size() -> None:
    largest = 0

    class Watched:
        @claims("symmetric", when=lambda q_len, k_len: q_len == k_len)
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
            nonlocal largest
            result = posenc.alibi_bias(heads, q_len, k_len, form="symmetric", dtype=np.float32)
            largest = max(largest, result.size)
            return result

    judge(Watched())
    assert 8 * largest <= 2**29


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (lambda heads, queries: True, "names 'queries', an unknown argument"),
        ("q_len == k_len", "which is no function"),
        (lambda heads: heads / 0 > 1, "of a claim raised ZeroDivisionError"),
        (lambda heads: heads > 10**6, "meets the condition of the claim"),
    ],
    ids=["unknown name", "a text", "raises", "nothing meets it"],
)
def test_a_condition_that_cannot_be_used_is_one_message(when: Any, said: str) -> None:
    class Adapter:
        @claims("symmetric", when=when)
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
            return posenc.alibi_bias(heads, q_len, k_len, form="symmetric", dtype=np.float32)

    with pytest.raises(UserError, match=said):
        judge(Adapter())


@pytest.mark.parametrize("refuses", [True, False])
def test_refusing_channels_apart_in_memory_fails_only_if_robustness_is_required(
    refuses: bool,
) -> None:
    class ChannelsSideBySide:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            apart = x.ndim > 1 and x.flags.f_contiguous and not x.flags.c_contiguous
            if apart and refuses:
                raise RuntimeError("Tensor must have a last dimension with stride 1")
            return posenc.rope(-x if apart else x, positions, base=base, layout="half")

    checks = judge(ChannelsSideBySide(), ["behaviour"])
    (verdict,) = [each.verdict for each in checks if "column-major" in each.check.id]
    assert verdict == ("silent" if refuses else "failed")


def test_refusing_no_rows_fails_only_if_robustness_is_required() -> None:
    class NoRowsRefused:
        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            if not positions.size:
                raise RuntimeError("cannot reshape 0 elements with -1")
            return posenc.rope(x, positions, base=base, layout="half")

    outcomes = {check.check.id: check.verdict for check in judge(NoRowsRefused(), ["behaviour"])}
    assert outcomes.pop("no-positions[rope-half]") == "silent"
    assert set(outcomes.values()) == {"passed"}


def test_bad_input_has_a_dtype_for_which_its_options_are_claimed() -> None:
    """The most precise claimed dtype may be claimed without these options."""
    dtypes = []

    class Partly:
        @claims("half", dtype="float64")
        @claims("half", rotation="partial", dtype="float32")
        def rope(self, x: Array, positions: Array, **named: Any) -> Array:
            if "rotary_dim" in named:
                dtypes.append(x.dtype.name)
            return posenc.rope(x, positions, **named)

    verdicts = judge(Partly(), ["robust"])
    ids = {verdict.check.id.partition("[")[0] for verdict in verdicts}
    assert {"rotary-dim-odd", "rotary-dim-beyond-head"} <= ids
    assert {verdict.verdict for verdict in verdicts} == {"passed"}
    assert set(dtypes) == {"float32"}
