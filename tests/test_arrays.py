"""Arrays on their way to an implementation and back: what inputs are made of, and what is kept."""

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance.judge.arrays import (
    DTYPES,
    UNDERFLOW,
    UNIT_ROUNDOFF,
    around,
    dtype_name,
    fine,
    lattice,
    round_to,
    to_numpy,
)


def formula(index: int) -> float:
    """As the spec states it, for any language."""
    return ((37 * index + 11) % 63 - 31) / 32


@pytest.mark.parametrize("start", [0, 1, 40, 62, 63, 1000])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (64_000,), (2, 40_000)])
def test_a_lattice_is_what_its_formula_says(shape: tuple[int, ...], start: int) -> None:
    found = lattice(shape, start)
    assert found.shape == shape
    wanted = [formula(start + index) for index in range(found.size)]
    assert found.reshape(-1).tolist() == wanted


def test_a_lattice_is_held_by_every_dtype() -> None:
    values = lattice((63,))
    assert len(set(values.tolist())) == 63
    assert np.abs(values).max() < 1
    for dtype in DTYPES:
        assert np.array_equal(round_to(values, dtype), values)


def test_fine_values_are_held_by_float64_alone() -> None:
    values = fine((63,), 5)
    assert np.allclose(values, lattice((63,), 5) * (np.sqrt(3) - 1), rtol=1e-15, atol=0)
    for dtype in ("float32", "bfloat16", "float16"):
        changed = round_to(values, dtype) != values
        assert changed[values != 0].all()
        off = np.abs(round_to(values, dtype) - values)
        assert np.all(off <= UNIT_ROUNDOFF[dtype] * np.abs(values))
    assert round_to(values, "float64") is values


def test_shared_memory_is_not_written_to() -> None:
    for made in (lattice, fine):
        with pytest.raises(ValueError, match="read-only"):
            made((4,))[0] = 1


def test_a_shape_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError):
        lattice((-1, 3))


def test_what_is_counted_is_not_rounded() -> None:
    assert UNIT_ROUNDOFF["integer"] == UNIT_ROUNDOFF["boolean"] == 0
    assert list(UNIT_ROUNDOFF.values())[:2] == [2.0**-53, 2.0**-24]


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_unit_roundoffs_are_those_of_the_dtypes(dtype: str) -> None:
    info = ml_dtypes.finfo(DTYPES[dtype])
    assert float(info.eps) / 2 == UNIT_ROUNDOFF[dtype]
    if dtype in UNDERFLOW:
        assert float(info.smallest_subnormal) / 2 == UNDERFLOW[dtype]
    else:
        assert float(info.smallest_subnormal) < 1e-37
    assert dtype_name(np.zeros(1, DTYPES[dtype])) == dtype


def test_what_lies_around_a_view_is_what_it_leaves_out() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    view = whole[1:3, ::2]
    before = around(view)
    assert len(before) == whole.nbytes
    view[...] = 7  # of the view itself nothing is seen
    assert around(view) == before
    for place in ((0, 0), (1, 1), (3, 5)):
        old = whole[place]
        whole[place] = 99
        assert around(view) != before
        whole[place] = old
    assert around(view) == before


def test_nothing_lies_around_an_array_of_its_own() -> None:
    assert around(np.zeros(4)) == b""
    assert around(np.asfortranarray(np.zeros((3, 4)))[1:, 1:]) == b""


def test_what_is_no_array_is_told_by_its_class() -> None:
    class Dlpack:
        def __init__(self) -> None:
            self.array = np.arange(3.0)

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)  # type: ignore[arg-type]

        def __dlpack_device__(self) -> object:
            return self.array.__dlpack_device__()

    assert to_numpy(Dlpack()).tolist() == [0, 1, 2]
    assert to_numpy([1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="a set"):
        to_numpy({1, 2})
