"""Arrays on their way to an implementation and back: values of inputs, memory and strides."""

from typing import Any

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
    placed,
    round_to,
    to_numpy,
    to_torch,
)


def formula(index: int) -> float:
    """Return a value of the lattice as the spec defines it, for any language."""
    return ((37 * index + 11) % 63 - 31) / 32


@pytest.mark.parametrize("start", [0, 1, 40, 62, 63, 1000])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (64_000,), (2, 40_000)])
def test_a_lattice_follows_its_formula(shape: tuple[int, ...], start: int) -> None:
    values = lattice(shape, start)
    assert values.shape == shape
    expected = [formula(start + index) for index in range(values.size)]
    assert values.reshape(-1).tolist() == expected


def test_a_lattice_is_exact_in_every_dtype() -> None:
    values = lattice((63,))
    assert len(set(values.tolist())) == 63
    assert np.abs(values).max() < 1
    for dtype in DTYPES:
        assert np.array_equal(round_to(values, dtype), values)


def test_fine_values_are_exact_in_float64_only() -> None:
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


def test_an_impossible_shape_is_refused() -> None:
    with pytest.raises(ValueError):
        lattice((-1, 3))


def test_integers_and_booleans_are_not_rounded() -> None:
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


def test_the_memory_around_a_view_is_what_the_view_leaves_out() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    view = whole[1:3, ::2]
    before = around(view)
    assert len(before) == whole.nbytes
    view[...] = 7  # changes of the view itself do not show
    assert around(view) == before
    for place in ((0, 0), (1, 1), (3, 5)):
        old = whole[place]
        whole[place] = 99
        assert around(view) != before
        whole[place] = old
    assert around(view) == before


def test_nothing_lies_around_a_whole_array() -> None:
    assert around(np.zeros(4)) == b""
    assert around(np.asfortranarray(np.zeros((3, 4)))[1:, 1:]) == b""


def test_an_object_that_is_no_array_is_named_by_its_class() -> None:
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


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [*DTYPES.values(), np.dtype(np.int64), np.dtype(np.bool_)])
def test_a_tensor_has_the_strides_of_its_array(dtype: np.dtype[Any]) -> None:
    wide = np.arange(2 * 7 * 3 * 12).reshape(2, 7, 3, 12).astype(dtype)
    for view in (
        wide,
        wide[..., 4:8],
        wide[1:, ::2, :, ::3],
        wide.transpose(0, 2, 1, 3),
        np.asfortranarray(wide),
        np.broadcast_to(wide[0, 0], wide.shape),
        wide[0, 0, 0, 0],
        wide[:0],
    ):
        tensor = to_torch(view)
        assert np.array_equal(to_numpy(tensor), view)
        if view.size:
            assert tensor.stride() == tuple(step // view.itemsize for step in view.strides)


@pytest.mark.torch
@pytest.mark.parametrize("writeable", [True, False])
def test_a_tensor_shares_the_memory_of_its_array(writeable: bool) -> None:
    """The shared memory includes the gaps between rows; a read-only array is copied."""
    wide = np.arange(24.0).reshape(2, 12)
    wide.flags.writeable = writeable
    tensor = to_torch(wide[:, 4:8])
    assert tensor.as_strided((2, 4), (4, 1)).tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    tensor.zero_()
    assert wide.flat[5] == (0 if writeable else 5)


@pytest.mark.torch
def test_a_tensor_on_another_device_has_the_strides_of_its_array() -> None:
    """``meta`` stands for a GPU: a device whose memory is not that of the array."""
    import torch

    wide = np.arange(2 * 7 * 3 * 12.0).reshape(2, 7, 3, 12)
    fixed = wide.copy()
    fixed.flags.writeable = False
    with torch.device("meta"):
        for view in (
            wide[..., 4:8],
            wide[1:, ::2, :, ::3],
            wide.transpose(0, 2, 1, 3),
            fixed[:, 1],
        ):
            tensor = to_torch(view)
            assert tensor.device.type == "meta"
            assert tensor.stride() == tuple(step // view.itemsize for step in view.strides)
        assert to_torch(wide[1:]).storage_offset() == wide[0].size
    assert to_torch(wide).device.type == "cpu"


@pytest.mark.torch
def test_an_array_that_torch_has_no_strides_for_is_copied_densely() -> None:
    backward = np.arange(6.0)[::-1]
    assert np.array_equal(to_numpy(to_torch(backward)), backward)
    half = np.zeros(4, [("a", np.int32), ("b", np.float64)])["b"]
    assert to_torch(half).tolist() == [0, 0, 0, 0]


def test_values_are_placed_with_strides() -> None:
    values = np.arange(12.0).reshape(2, 2, 3)
    for strides in ((6, 3, 1), (20, 9, 2), (3, 6, 1)):
        result = placed(values, strides)
        assert np.array_equal(result, values)
        assert result.strides == tuple(8 * step for step in strides)
