"""``posenc identify`` names the scheme of a saved table."""

import json
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance.commands import progress
from posenc_conformance.commands.identify.answers import answers, identify
from posenc_conformance.commands.identify.saved_arrays import Table
from posenc_conformance.commands.main import main
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_lab.judging import schemes

pytestmark = pytest.mark.remembered(shipped=True)


def named(array: Array) -> list[tuple[str, str, str | None]]:
    return [(m.case.call.name, m.combination, m.deviation) for m in identify(array, schemes())[0]]


def table(first: int = 0, rows: int = 100, dim: int = 16, base: float = 1e4, **rules: Any) -> Array:
    return posenc.sinusoidal(
        np.arange(first, first + rows), dim, base=base, dtype=np.float32, **rules
    )


def test_a_table_is_named() -> None:
    assert named(table()) == [("sinusoidal", "paper", None)]
    assert named(table(dim=7, odd_dim="uneven")) == [("sinusoidal", "paper", None)]


def test_a_table_saved_in_another_dtype_is_named() -> None:
    assert named(table().astype(np.float64)) == [("sinusoidal", "paper", None)]
    assert named(table().astype(np.float16).astype(np.float64)) == [("sinusoidal", "paper", None)]


@pytest.mark.parametrize(("height", "width"), [(6, 4), (4, 6), (14, 14), (2, 98), (3, 5)])
@pytest.mark.parametrize("combination", ["mae", "row-first", "detr"])
def test_a_table_of_any_grid_is_named(height: int, width: int, combination: str) -> None:
    (scheme,) = (each for each in schemes() if each.id == "sincos-2d")
    conventions: dict[str, Any] = dict(
        scheme.calls["sincos_2d"].combinations[combination].conventions
    )
    grid = posenc.sincos_2d(height, width, 32, base=1e4, dtype=np.float32, **conventions)
    found = [each for each in identify(grid, [scheme])[0] if each.combination == combination]
    sizes = [(each.case.arguments["height"], each.case.arguments["width"]) for each in found]
    assert sizes == [(height, width)]
    assert found[0].deviation is None
    other = np.random.default_rng(0).permuted(grid, axis=0)
    assert not identify(other, [scheme], only_right=True)[0]


def test_the_dtype_of_the_file_is_told_where_it_fits() -> None:
    slopes = 2.0 ** -np.arange(1.0, 9.0)
    for array, said in ((slopes, "float64"), (slopes.astype("f4"), "float32")):
        for text in answers(Table(array), schemes())[0]:
            assert f"0 of what {said} allows" in text
    narrow = table().astype(np.float16).astype(np.float64)
    assert "of what float16 allows" in answers(Table(narrow), schemes())[0][0]


def test_no_base_is_doubted_that_is_worse_than_exact_slopes() -> None:
    exact, other = answers(Table(2.0 ** -np.arange(8.0)), schemes())[0]
    assert "counted from h = 0" in exact
    assert "(base 256, rotary_dim 16)" in other
    assert "0 of what float64 allows" in other
    (alone,) = answers(Table(2.0 ** -np.arange(16.0)[::2]), schemes())[0][:1]
    assert "bfloat16" not in alone


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


@pytest.mark.slow
def test_two_mistakes_are_named_together() -> None:
    result = named(3 * table(first=5, rows=20))
    assert ("sinusoidal", "paper", "positions-shifted+wrong-scale") in result


def test_slopes_and_biases_are_named() -> None:
    assert ("alibi_slopes", "interpolated", None) in named(posenc.alibi_slopes(12))
    assert ("alibi_bias", "symmetric", None) in named(posenc.alibi_bias(3, 4, 5, form="symmetric"))
    reverse = posenc.alibi_slopes(12)[::-1]
    assert named(reverse) == [("alibi_slopes", "interpolated", "slopes-spread-wrongly")]


def test_inverse_frequencies_are_named() -> None:
    plain = (10000.0 ** -(np.arange(0, 64, 2) / 64)).astype(np.float32)
    assert named(plain) == [("position_interpolation_frequencies", "standard", None)]
    arguments = {"base": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaled = posenc.llama3_frequencies(
        128, original_max_position_embeddings=8192, dtype=np.float32, **arguments
    )
    assert named(scaled) == [("llama3_frequencies", "standard", None)]
    other_base = (500.0 ** -(np.arange(0, 64, 2) / 64)).astype(np.float32)
    expected = ("position_interpolation_frequencies", "standard", "wrong-base-frequencies")
    assert expected in named(other_base)


@pytest.mark.slow
def test_noise_is_not_named() -> None:
    noise = np.random.default_rng(0).normal(size=(20, 16))
    assert named(noise) == []
    assert "nothing known comes near" in identify(noise, schemes())[1]


@pytest.mark.slow
def test_the_nearest_table_is_named() -> None:
    shifted = table(rows=20) + 0.1 * (np.arange(16) == 3)
    assert "nearest is sinusoidal" in identify(shifted, schemes())[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("array", "words"),
    [
        (table().T, "transpose"),
        (np.pad(table(), ((0, 0), (0, 8)), constant_values=1.0), "first 16 of 24"),
    ],
)
def test_transposed_and_padded_tables_are_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], array: Array, words: str
) -> None:
    np.save(tmp_path / "table.npy", array)
    assert main(["identify", str(tmp_path / "table.npy")]) == 0
    output = capsys.readouterr().out
    assert words in output
    assert "sinusoidal, paper" in output


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "txt"])
def test_files_of_every_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    path = tmp_path / f"table.{suffix}"
    array = table(rows=12)
    if suffix in ("npy", "npz"):
        {"npy": np.save, "npz": np.savez}[suffix](path, array)
    else:
        np.savetxt(path, array, delimiter="," if suffix == "csv" else " ")
    assert main(["identify", str(path)]) == 0
    assert "paper" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"a b c", b"nan nan", b"\x93NUMPY"])
def test_files_that_hold_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = tmp_path / "table.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["identify", str(path)]) == 2
    assert "hint" in capsys.readouterr().err


def told(array: Array, grain: float = 0.0) -> list[str]:
    """Return the scheme of each answer, the simplest first."""
    return [text.partition(":")[0] for text in answers(Table(array, grain), schemes())[0]]


def waves(
    dim: int = 64, base: float = 1e4, factor: float = 1.0, rows: int = 60
) -> tuple[Array, Array]:
    frequencies = base ** (-np.arange(0, dim, 2) / dim) / factor
    angles = np.outer(np.arange(rows), frequencies)
    return np.cos(angles), np.sin(angles)


FORMS: dict[str, Callable[[Array, Array], Array]] = {
    "cos": lambda cos, sin: cos,
    "sin": lambda cos, sin: sin,
    "halves": lambda cos, sin: np.concatenate([cos, cos], axis=1),
    "twice": lambda cos, sin: np.repeat(cos, 2, axis=1),
    "beside": lambda cos, sin: np.concatenate([cos, sin], axis=1),
    "sin-first": lambda cos, sin: np.stack([sin, cos]),
    "stacked-halves": lambda cos, sin: np.stack([np.concatenate([x, x], 1) for x in (cos, sin)]),
    "last-axis": lambda cos, sin: np.stack([cos, sin], axis=-1),
    "batch": lambda cos, sin: np.concatenate([cos, cos], axis=1)[None, :, None],
    "complex": lambda cos, sin: cos + 1j * sin,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", [1e4, 5e5])
def test_a_rotary_cache_is_named_in_every_form(form: str, base: float) -> None:
    array = FORMS[form](*waves(base=base))
    narrow = array.astype(np.complex64 if form == "complex" else np.float32)
    texts = answers(Table(narrow), schemes())[0]
    assert len([text for text in texts if not text.startswith("sinusoidal")]) == 1
    assert texts[0].startswith("rope: ")
    assert f"base {base:g}" in texts[0]


def test_a_rotary_cache_of_scaled_frequencies() -> None:
    assert told(waves(factor=4.0)[0].astype(np.float32)) == ["position-interpolation"]
    rule: dict[str, Any] = {
        "base": 5e5,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    }
    slow = posenc.llama3_frequencies(128, original_max_position_embeddings=8192, **rule)
    assert told(np.cos(np.outer(np.arange(100), slow)).astype(np.float32)) == ["llama3"]


@pytest.mark.parametrize("base", [1e4, 700.0, 1e6])
def test_plain_inverse_frequencies_are_those_of_rope(base: float) -> None:
    (text,) = answers(Table((base ** (-np.arange(32) / 32)).astype(np.float32)), schemes())[0]
    assert text.startswith("rope: ")
    assert f"base {base:.9g}" in text


def test_slopes_are_no_inverse_frequencies() -> None:
    assert set(told(posenc.alibi_slopes(8))) == {"alibi"}


@pytest.mark.parametrize("value", [0.0, 1.0, True])
def test_a_constant_table_says_nothing(value: float) -> None:
    texts, otherwise = answers(Table(np.full((10, 16), value)), schemes())
    assert not texts
    assert "says nothing" in otherwise


CAUSAL = np.tril(np.ones((8, 8), dtype=np.bool_))


@pytest.mark.parametrize(
    "mask",
    [
        CAUSAL,
        CAUSAL.astype(np.int64),
        np.where(CAUSAL, 0, -np.inf),
        np.where(CAUSAL, 0, np.finfo(np.float32).min),
        CAUSAL[None, None],
        ~CAUSAL,
        np.tril(np.ones((3000, 3000), dtype=np.bool_)),
    ],
)
@pytest.mark.filterwarnings("error")
def test_masks_are_named(mask: Array) -> None:
    assert set(told(mask)) == {"causal-mask"}


@pytest.mark.filterwarnings("error")
def test_masks_with_a_size_and_biases_with_a_mask_are_named() -> None:
    query, key = np.arange(40)[:, None], np.arange(40)
    assert set(told((query >= key) & (query - key < 8))) == {"sliding-window"}
    assert told((query >= key) & (query // 8 == key // 8)) == ["chunked"]
    assert set(told(np.where(CAUSAL, posenc.alibi_bias(4, 8, 8), -np.inf))) == {"alibi"}


@pytest.mark.parametrize("decimals", [3, 4, 6, 9])
def test_printed_decimals_are_read_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], decimals: int
) -> None:
    path = tmp_path / "table.csv"
    np.savetxt(path, table(rows=40), fmt=f"%.{decimals}f", delimiter=",")
    assert main(["identify", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "sinusoidal, paper" in shown
    assert "but" not in shown
    np.savetxt(path, 3 * table(rows=40), fmt=f"%.{decimals}f", delimiter=",")
    assert main(["identify", str(path)]) == 0
    assert "wrong-scale" in capsys.readouterr().out


def test_coarsely_printed_tables_are_still_told_apart() -> None:
    array = np.round(table(rows=40, base=9000.0), 4)
    texts, _ = answers(Table(array), schemes())
    assert "sinusoidal" not in told(array) or all("but" in text for text in texts)


def rows_of(array: Array, separator: str = ",") -> list[str]:
    return [separator.join(f"{value:.8f}" for value in row) for row in array]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([",".join(f"c{i}" for i in range(16)), *rows_of(table())]),
        "\n".join([",".join(str(i) for i in range(16)), *rows_of(table())]),
        "\n".join(
            ["," + ",".join(f"c{i}" for i in range(16))]
            + [f"{number},{line}" for number, line in enumerate(rows_of(table()))]
        ),
        "\ufeff" + "\n".join(rows_of(table())) + "\n\n \n",
        "\r\n".join(rows_of(table(), ";")),
        "\n".join(line + "," for line in rows_of(table())),
        "\n".join(rows_of(table(), "\t")),
    ],
)
def test_text_as_programs_write_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("utf-8"))
    assert main(["identify", str(path)]) == 0
    assert "paper" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "line"),
    [("1.0,2.0\n3.0,four\n", 2), ("1.0,2.0\n\n3.0\n", 3), ("1.0,,2.0\n", 1), ("1 2\n3 4\nx y", 3)],
)
def test_a_bad_cell_is_shown_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["identify", str(path)]) == 2
    assert f"table.csv:{line}:" in capsys.readouterr().err


class Planted:
    """Writers of files that cannot be read as a table."""

    @staticmethod
    def broken_archive(path: Path) -> None:
        np.savez(path, a=np.ones(9))
        path.write_bytes(path.read_bytes()[:-30])

    @staticmethod
    def damaged_member(path: Path) -> None:
        np.savez_compressed(path, a=np.arange(999.0))
        content = bytearray(path.read_bytes())
        content[60:90] = b"?" * 30
        path.write_bytes(content)

    @staticmethod
    def no_archive(path: Path) -> None:
        path.write_bytes(b"PK no")

    @staticmethod
    def objects(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)

    @staticmethod
    def words(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, np.array(["a", "b"]))

    @staticmethod
    def far_too_large(path: Path) -> None:
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
            )

    @staticmethod
    def sparse_and_huge(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(2**36)

    @staticmethod
    def folder(path: Path) -> None:
        path.mkdir()


@pytest.mark.parametrize(
    ("plant", "suffix"),
    [
        ("broken_archive", "npz"),
        ("damaged_member", "npz"),
        ("no_archive", "npz"),
        ("objects", "npy"),
        ("words", "npy"),
        ("far_too_large", "npy"),
        ("sparse_and_huge", "npy"),
        ("sparse_and_huge", "txt"),
        ("no_archive", "npy"),
        ("folder", "csv"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: str, suffix: str
) -> None:
    path = tmp_path / f"table.{suffix}"
    getattr(Planted, plant)(path)
    assert main(["identify", str(path)]) == 2
    message = capsys.readouterr().err
    assert path.name in message
    assert "hint" in message
    assert len(message.splitlines()) == 2


def test_complex_numbers_other_than_a_cache(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.npy"
    np.save(path, np.arange(12.0).reshape(3, 4) * 1j)
    assert main(["identify", str(path)]) == 1
    assert "complex" in capsys.readouterr().out


def test_bfloat16_as_numpy_saves_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.npy"
    np.save(path, table().astype(DTYPES["bfloat16"]))
    assert main(["identify", str(path)]) == 0
    assert "bfloat16" in capsys.readouterr().out


@pytest.mark.slow
def test_many_numbers_on_one_line_cause_no_large_call() -> None:
    """The cost of a call grows with its size, so calls with 6400 heads or pairs are not made."""
    texts, otherwise = answers(Table(np.sin(np.arange(6400.0))), schemes())
    assert not texts
    assert "shape" in otherwise


def answered(array: Array) -> str:
    """Return the first answer, or an empty string."""
    return next(iter(answers(Table(array), schemes())[0]), "")


LLAMA_3: dict[str, Any] = {
    "base": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
GPT_OSS: dict[str, Any] = {
    "base": 150000.0,
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
    "ramp": "untruncated",
}


def turned(frequencies: Array, rows: int = 40, longer: float = 1.0) -> tuple[Array, Array]:
    angles = np.outer(np.arange(rows), frequencies)
    return longer * np.cos(angles), longer * np.sin(angles)


def test_numbers_name_the_model() -> None:
    llama = posenc.llama3_frequencies(128, **LLAMA_3)
    oss = posenc.yarn_frequencies(64, **GPT_OSS)
    longer = 0.1 * np.log(32) + 1
    for array, title in (
        (llama, "Llama 3.1 8B"),
        (turned(llama)[1], "Llama 3.1 8B"),
        (np.concatenate(turned(llama), axis=1), "Llama 3.1 8B"),
        (oss, "gpt-oss 20B"),
        (np.concatenate([turned(oss, longer=longer)[0]] * 2, axis=1), "gpt-oss 20B"),
        ((1e4 ** (-np.arange(64) / 64)), "Llama 2 7B"),
    ):
        assert title in answered(array.astype(np.float32))
    assert "Llama 3.2" not in answered(llama.astype(np.float32))


def test_both_models_are_named_if_the_numbers_fit_both() -> None:
    narrow = turned(posenc.llama3_frequencies(128, **LLAMA_3), rows=60)[0]
    texts = answers(Table(narrow.astype(DTYPES["bfloat16"])), schemes())[0]
    assert any("Llama 3.1 8B" in text for text in texts)
    assert any("Llama 3.2 3B" in text for text in texts)


def test_the_best_of_many_explanations_are_shown_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scaled: dict[str, Any] = {"base": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}
    path = tmp_path / "printed.txt"
    printed = [f"{value:.4e}" for value in posenc.yarn_frequencies(128, **scaled)]
    path.write_text("\n".join(printed), encoding="utf-8")
    assert main(["identify", str(path), "--all"]) == 0
    everything = capsys.readouterr().out
    assert main(["identify", str(path)]) == 0
    best = capsys.readouterr().out
    count = int(everything.split()[0])
    assert best.splitlines()[0] == everything.splitlines()[0]
    assert best.endswith(f"and {count - 3} more: --all\n")
    shown = best.splitlines()[1:-1]
    assert all(line in everything for line in shown)
    assert [line.startswith("yarn: ") for line in shown] == [True, False] * 3
    assert all("base 1000000, factor 4" in line for line in shown[::2])
    np.save(tmp_path / "one.npy", (1e4 ** (-np.arange(64) / 64)).astype(np.float32))
    assert main(["identify", str(tmp_path / "one.npy")]) == 0
    assert "--all" not in capsys.readouterr().out


def stepped(dim: int, base: float, factor: float, first: int) -> Array:
    """Return frequencies of YaRN with a step instead of a ramp, at pair ``first``."""
    frequencies = base ** (-np.arange(0, dim, 2) / dim)
    frequencies[first:] /= factor
    return np.asarray(frequencies)


@pytest.mark.parametrize(
    ("frequencies", "words"),
    [
        (
            posenc.llama3_frequencies(64, **(LLAMA_3 | {"base": 7e4, "factor": 6.0})),
            "llama3.*base 70000, factor 6.*8192",
        ),
        (
            posenc.llama3_frequencies(128, **(LLAMA_3 | {"high_freq_factor": 8.0, "factor": 3.0})),
            "llama3.*factor 3, high_freq_factor 8.*8192",
        ),
        (
            posenc.yarn_frequencies(
                96, base=1e6, factor=5.0, original_max_position_embeddings=4096
            ),
            "yarn.*base 1000000, factor 5,.*index.*4096",
        ),
        (
            posenc.yarn_frequencies(
                128, base=1e4, factor=4.0, original_max_position_embeddings=3000, ramp="untruncated"
            ),
            "yarn.*factor 4, a ramp from pair",
        ),
        (stepped(64, 3e4, 24.0, 14), "yarn.*base 30000, factor 24 from pair 14 on.*beta_slow"),
        (stepped(128, 5e5, 8.0, 30), "yarn.*base 500000, factor 8 from pair 30 on.*beta_slow"),
        (posenc.ntk_aware_frequencies(64, base=1e4, factor=4.0), "rope.*NTK-aware.*factor 4"),
        (posenc.p_rope_frequencies(64, base=3e5, proportion=0.25), "p-rope.*300000.*0.25"),
        (np.linspace(1, 128, 16) * np.pi, "evenly spaced.*from 1 π to 128 π"),
        (777.0 ** (-np.arange(20) / 20), "rope.*base 777, rotary_dim 40"),
    ],
)
def test_parameters_that_no_model_has_are_solved_for(frequencies: Array, words: str) -> None:
    assert re.search(words, answered(np.asarray(frequencies, np.float32)))
    both = np.stack(turned(np.asarray(frequencies), rows=200), axis=-1)
    if np.abs(frequencies).max() <= 1:
        assert re.search(words, answered(both.astype(np.float32)))


def test_caches_with_another_start_or_form() -> None:
    frequencies = 1e4 ** (-np.arange(32) / 32)
    angles = np.outer(np.arange(7, 60), frequencies)
    later = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    assert "from position 7 on" in answered(later.astype(np.float32))
    cos, sin = turned(frequencies)
    matrices = np.stack([cos, -sin, sin, cos], axis=-1).reshape(40, 32, 2, 2)
    for form, array in {
        "matrices": matrices,
        "a column for each position": np.concatenate([cos, sin], axis=1).T,
        "angles": np.repeat(np.outer(np.arange(40), frequencies), 2, axis=1),
        "each twice": np.repeat(frequencies, 2),
        "cosines": np.broadcast_to(cos, (3, 40, 32)),
    }.items():
        answer = answered(array.astype(np.float32))
        assert answer.startswith("rope: ")
        assert form in answer


@pytest.mark.slow
def test_mistaken_caches_are_named_with_their_mistake() -> None:
    frequencies = 1e4 ** (-np.arange(32) / 32)
    cos, sin = turned(frequencies)
    assert "opposite sign" in answered(np.stack([cos, -sin], axis=-1).astype(np.float32))
    places = np.arange(2000).astype(DTYPES["bfloat16"]).astype(np.float64)
    rounded = np.cos(np.outer(places, frequencies)).astype(np.float32)
    assert "positions in bfloat16" in answered(rounded)


def test_buckets_rows_and_positions_are_named() -> None:
    lag = np.arange(300)[:, None] - np.arange(300)
    t5 = posenc.t5_bucket(-lag, num_buckets=32, max_distance=128)
    assert "num_buckets 32, max_distance 128" in answered(t5)
    deberta = posenc.deberta_bucket(lag, num_buckets=256, max_relative_positions=512)
    assert answered(deberta[None]).startswith("deberta: ")
    assert answered(posenc.relative_table_2d_rows(7, 7)).startswith("relative-table-2d: ")
    assert answered(np.arange(5, 300)).startswith("position-ids: ")
    grid = posenc.sincos_2d(6, 6, 32).astype(np.float32)
    assert answered(grid).startswith("sincos-2d: ")
    assert answered(np.concatenate([0 * grid[:1], grid])[None]).startswith("sincos-2d: ")
    assert answered(posenc.alibi_bias(8, 1, 30, form="first-key")).startswith("alibi: ")


def header_of(entries: dict[str, Any]) -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


def test_safetensors_of_several_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "buffers.safetensors"
    frequencies = (1e4 ** (-np.arange(32) / 32)).astype(np.float32).tobytes()
    narrow = np.ones(4, DTYPES["bfloat16"]).tobytes()
    entries = {
        "__metadata__": {"format": "pt"},
        "inv_freq": {"dtype": "F32", "shape": [32], "data_offsets": [0, 128]},
        "norm": {"dtype": "BF16", "shape": [4], "data_offsets": [128, 136]},
    }
    path.write_bytes(header_of(entries) + frequencies + narrow)
    assert main(["identify", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "inv_freq (32, float32)\n  rope: inverse frequencies" in shown
    assert "norm (4, bfloat16)\n  every value is 1" in shown
    assert main(["identify", str(path), "norm"]) == 1
    assert main(["identify", str(path), "weight"]) == 2
    assert "it has inv_freq, norm" in capsys.readouterr().err


def test_of_many_arrays_only_those_of_positions_are_identified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.npz"
    weights: dict[str, Any] = {f"layers.{i}.weight": np.full((2, 2), i) for i in range(30)}
    np.savez(path, rotary=np.cos(np.arange(9)[:, None] / [1, 100]), **weights)
    assert main(["identify", str(path)]) == 0
    assert "weight" not in capsys.readouterr().out
    np.savez(path, **weights)
    assert main(["identify", str(path)]) == 2
    assert "30 arrays" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 20,
        header_of({"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}}) + b"1234",
        header_of({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}) + b"12",
        header_of({"a": {"dtype": "F32", "shape": [1]}}),
    ],
)
def test_damaged_safetensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "buffers.safetensors"
    path.write_bytes(content)
    assert main(["identify", str(path)]) == 2
    assert "buffers.safetensors" in capsys.readouterr().err


def archived(path: Path, pickled: bytes, numbers: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", numbers)


def tensor_pickle(shape: str, strides: str, storage: str = "FloatStorage") -> bytes:
    """Return what torch writes for {"inv_freq": tensor} in the oldest protocol, a textual one."""
    return (
        "(dp0\nS'inv_freq'\nctorch._utils\n_rebuild_tensor_v2\n"
        f"((S'storage'\nctorch\n{storage}\nS'0'\nS'cpu'\nI32\ntQI0\n{shape}{strides}I00\n"
        "ccollections\nOrderedDict\n(tRtRs."
    ).encode()


def test_torch_archives_are_read_without_torch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "buffers.pt"
    numbers = (1e4 ** (-np.arange(32) / 32)).astype(np.float32).tobytes()
    archived(path, tensor_pickle("(I32\nt", "(I1\nt"), numbers)
    assert main(["identify", str(path)]) == 0
    assert "base 10000, rotary_dim 64" in capsys.readouterr().out
    for wrong in (
        tensor_pickle("(I33\nt", "(I1\nt"),
        tensor_pickle("(I32\nt", "(I-1\nt"),
        tensor_pickle("(I32\nI9\nt", "(I1\nt"),
        tensor_pickle("(I32\nt", "(I1\nt", storage="Tensor"),
        b"cos\nsystem\n(S'true'\ntR.",
        b"(dp0\nS'a'\ncposix\nsystem\ns.",
        b"junk",
    ):
        archived(path, wrong, numbers)
        assert main(["identify", str(path)]) == 2
        assert "buffers.pt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tensor([[1.0000, 1.0000],\n        [0.5403, 0.9950],\n        [-0.4161, 0.9801]])", 0),
        ("[[1.  1. ]\n [0.54030231 0.99500417]\n [-0.41614684 0.98006658]]", 0),
        ("array([0, 1, 2, 3, 4, 5])", 0),
        ("tensor([[1.0, 0.5], ..., [0.1, 0.2]])", 2),
        ("[[1.0, 0.5], [0.1]]", 2),
        ("[[1.0, 0.5]", 2),
    ],
)
def test_output_of_python_is_parsed(tmp_path: Path, text: str, code: int) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(text, encoding="utf-8")
    assert main(["identify", str(path)]) == code


def test_six_thousand_numbers_take_less_than_two_seconds() -> None:
    """The limit is on processor time, including the reading of schemes and models."""
    cos = turned(1e4 ** (-np.arange(32) / 32), rows=100)[0]
    arrays = (np.repeat(cos, 2, axis=1), np.random.default_rng(0).normal(size=(80, 80)))
    for array in arrays:
        before = time.process_time()
        answers(Table(array.astype(np.float32)), schemes())
        assert time.process_time() - before < 2


@pytest.mark.slow
def test_a_learned_table_as_large_as_those_of_models_is_unknown_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(0).standard_normal((1024, 768), dtype=np.float32))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    before = time.process_time()
    assert main(["identify", str(path)]) == 1
    assert time.process_time() - before < 30  # 80 s without a sample of rows, below 10 with it
    shown = capsys.readouterr()
    assert shown.out == "nothing known comes near it\n"
    assert "posenc: trying known mistakes of sincos-2d\n" in shown.err


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.9, 0.5]),
        np.array([0.9, 0.5, 0.25]),
        np.arange(1.0, 9.0),
        np.linspace(0.0, 1.0, 9),
        np.sort(np.random.default_rng(0).uniform(size=32))[::-1],
        np.random.default_rng(0).normal(size=(40, 64)),
        np.tanh(np.random.default_rng(0).normal(size=(40, 32))),
    ],
)
def test_other_arrays_are_not_solved_for(array: Array) -> None:
    texts = answers(Table(array.astype(np.float32)), schemes())[0]
    assert not any("rope" in text or "spaced" in text or "rotary" in text for text in texts)


@pytest.mark.parametrize(
    ("slopes", "words"),
    [
        (2.0 ** (-np.arange(1, 13) / 2), "of the next power of two, 16, in order"),
        (2.0 ** (-np.arange(12) / 2), "counted from h = 0"),
        (2.0 ** (-8 * np.arange(12) / 12), "counted from h = 0"),
        (2.0 ** -np.arange(8.0), "counted from h = 0"),
    ],
)
def test_mistaken_slopes_are_told_before_an_odd_base(slopes: Array, words: str) -> None:
    first, second = answers(Table(slopes.astype(np.float32)), schemes())[0]
    assert first.startswith("alibi")
    assert words in first
    assert "a base that no released model here has" in second


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_table_of_offsets_is_named(sign: int) -> None:
    offsets = sign * np.arange(-50, 51)
    (text,) = answers(Table(posenc.sinusoidal(offsets, 16, dtype=np.float32)), schemes())[0]
    assert f"positions {offsets[0]} to {offsets[-1]}" in text
    assert "but" not in text
