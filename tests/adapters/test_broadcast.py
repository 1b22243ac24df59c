"""Claims with ``broadcast``: a bias may leave out an axis along which it repeats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.errors import UserError
from posenc_lab.judging import failed, judge
from posenc_lab.miniatures.styles import Array

pytestmark = pytest.mark.remembered(shipped=True)

Bias = Callable[[Array], Array]
"""Function from the whole bias to the array that an implementation returns."""

RIGHT: dict[str, tuple[str, Bias]] = {
    "one row": ("first-key", lambda bias: bias[:, -1:]),
    "one row, from the last key": ("last-key", lambda bias: bias[:, -1:]),
    "one row in a batch": ("key-from-1", lambda bias: bias[None, :, -1:]),
    "every row": ("symmetric", lambda bias: bias),
    "every row in a batch": ("symmetric", lambda bias: bias[None]),
    "one row, if there are many keys": (
        "first-key",
        lambda bias: bias[:, -1:] if bias.shape[-1] > 9 else bias,
    ),
}
WRONG: dict[str, tuple[str, Bias]] = {
    "the last row": ("symmetric", lambda bias: bias[:, -1:]),
    "the last row of a causal bias": ("causal", lambda bias: bias[:, -1:]),
    "one row, a key late": ("first-key", lambda bias: np.roll(bias, 1, axis=-1)[:, -1:]),
    "one head": ("first-key", lambda bias: bias[:1, -1:]),
    "no heads": ("first-key", lambda bias: bias[0]),
    "heads summed": ("first-key", lambda bias: bias.sum(axis=0)),
    "one key": ("first-key", lambda bias: bias[..., -1:]),
    "heads for queries": ("first-key", lambda bias: bias[:, -1]),
    "two batches": ("first-key", lambda bias: np.stack([bias, bias])),
    "columns": ("first-key", lambda bias: bias[:, -1:].swapaxes(-1, -2)),
    "one row of few": (
        "symmetric",
        lambda bias: bias[:, -1:] if bias.shape[-1] > 9 else bias,
    ),
}


def adapter(form: str, made: Bias, *, broadcast: bool = True) -> object:
    class Alibi:
        @claims(form, dtype=["float64", "float32"], broadcast=broadcast)
        def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: Any) -> Array:
            return made(posenc.alibi_bias(heads, q_len, k_len, form=form, dtype=dtype)).copy()

    return Alibi()


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_repeating_axis_may_be_left_out(name: str) -> None:
    verdicts = judge(adapter(*RIGHT[name]))
    assert {str(verdict.verdict) for verdict in verdicts} <= {"passed", "not claimed", "silent"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_leaving_out_an_axis_that_does_not_repeat_fails(name: str) -> None:
    assert failed(judge(adapter(*WRONG[name])))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RIGHT if name != "every row"])
def test_without_the_claim_the_full_shape_is_required(name: str) -> None:
    assert any(
        "returned shape" in e.text for e in failed(judge(adapter(*RIGHT[name], broadcast=False)))
    )


def test_a_table_of_one_column_without_heads_is_right() -> None:
    class OneHead:
        @claims("bidirectional", heads=1, broadcast=True)
        def t5_bias(self, table: Array, q_len: int, k_len: int, **keywords: Any) -> Array:
            return np.asarray(posenc.t5_bias(table, q_len, k_len, **keywords)[0])

    assert not failed(judge(OneHead()))


@pytest.mark.parametrize("earlier", ["kept", "handed out"])
def test_a_kept_row_is_detected(earlier: str) -> None:
    """The aliasing check looks at the memory of the row, not of its broadcast view."""
    rows: dict[Any, Array] = {}

    class Kept:
        @claims("first-key", broadcast=True)
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
            row = posenc.alibi_bias(heads, 1, k_len, form="first-key", dtype=np.float32)
            if earlier == "kept":
                return rows.setdefault((heads, k_len), row)
            out = rows.setdefault(row.shape, row)
            out[...] = row
            return out

    names = {verdict.check.id.partition("[")[0] for verdict in failed(judge(Kept(), ["behaviour"]))}
    assert "no-alias" in names


def test_only_a_bias_can_claim_it() -> None:
    class Rope:
        @claims("half", broadcast=True)
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return x

    with pytest.raises(UserError, match="is not a bias"):
        judge(Rope())
