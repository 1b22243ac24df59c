"""posenc identify: what a saved table is."""

from pathlib import Path

import numpy as np
import pytest

import posenc
from posenc_conformance.arrays import Array
from posenc_conformance.cli import main
from posenc_conformance.identify import identify


def named(array: Array) -> list[tuple[str, str, str | None]]:
    return [(m.case.call.name, m.combination, m.deviation) for m in identify(array)[0]]


def table(first: int = 0, rows: int = 100, dim: int = 16, base: float = 1e4, **rules: object):
    return posenc.sinusoidal(
        np.arange(first, first + rows), dim, base=base, dtype=np.float32, **rules
    )


def test_a_table_is_named() -> None:
    assert named(table()) == [("sinusoidal", "paper", None)]
    assert named(table(dim=7, odd_dim="uneven")) == [("sinusoidal", "paper", None)]


def test_a_table_saved_in_another_dtype_is_named() -> None:
    assert named(table().astype(np.float64)) == [("sinusoidal", "paper", None)]
    assert named(table().astype(np.float16).astype(np.float64)) == [("sinusoidal", "paper", None)]


def test_a_long_table_is_named_by_some_of_its_rows() -> None:
    assert ("sinusoidal", "paper", None) in named(table(rows=5000, dim=64))


@pytest.mark.parametrize(
    ("array", "deviation"),
    [
        (table(first=3), "positions-shifted"),
        (table(base=500.0), "wrong-base"),
        (-table(), "wrong-scale"),
        (3 * table(), "wrong-scale"),
    ],
)
def test_a_mistaken_table_is_named_with_its_mistake(array: Array, deviation: str) -> None:
    assert ("sinusoidal", "paper", deviation) in named(array)


def test_two_mistakes_are_named_together() -> None:
    found = named(3 * table(first=5, rows=20))
    assert ("sinusoidal", "paper", "positions-shifted+wrong-scale") in found


def test_slopes_and_biases_are_named() -> None:
    assert ("alibi_slopes", "interpolated", None) in named(posenc.alibi_slopes(12))
    assert ("alibi_bias", "symmetric", None) in named(posenc.alibi_bias(3, 4, 5, form="symmetric"))
    reverse = posenc.alibi_slopes(12)[::-1]
    assert named(reverse) == [("alibi_slopes", "interpolated", "slopes-spread-wrongly")]


def test_inverse_frequencies_are_named() -> None:
    plain = (10000.0 ** -(np.arange(0, 64, 2) / 64)).astype(np.float32)
    assert named(plain) == [("position_interpolation_frequencies", "standard", None)]
    given = {"base": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaled = posenc.llama3_frequencies(
        128, original_max_position_embeddings=8192, dtype=np.float32, **given
    )
    assert named(scaled) == [("llama3_frequencies", "standard", None)]
    other_base = (500.0 ** -(np.arange(0, 64, 2) / 64)).astype(np.float32)
    found = ("position_interpolation_frequencies", "standard", "wrong-base-frequencies")
    assert found in named(other_base)


def test_noise_is_not_named() -> None:
    noise = np.random.default_rng(0).normal(size=(20, 16))
    assert named(noise) == []
    assert "nearest" in identify(noise)[1]


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "txt"])
def test_files_of_every_kind(tmp_path: Path, capsys, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    array = table(rows=12)
    if suffix in ("npy", "npz"):
        {"npy": np.save, "npz": np.savez}[suffix](path, array)
    else:
        np.savetxt(path, array, delimiter="," if suffix == "csv" else " ")
    assert main(["identify", str(path)]) == 0
    assert "paper" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"a b c", b"nan nan", b"\x93NUMPY"])
def test_files_that_hold_no_table(tmp_path: Path, capsys, content: bytes | None) -> None:
    path = tmp_path / "table.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["identify", str(path)]) == 2
    assert "hint" in capsys.readouterr().err
