"""The page and ``posenc identify`` give the same answers to the same numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance.commands.identify.answers import answers
from posenc_conformance.commands.identify.saved_arrays import Table
from posenc_conformance.commands.identify.text_tables import numbers_of
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import schemes
from tests.site.explorer import EXPLORER, identified

pytestmark = pytest.mark.remembered(shipped=True, also=EXPLORER)

LLAMA: dict[str, Any] = {
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


def plain(base: float = 1e4, pairs: int = 32) -> Array:
    return np.asarray(base ** (-np.arange(pairs) / pairs))


def waves(frequencies: Array, first: int = 0, longer: float = 1.0) -> tuple[Array, Array]:
    angles = np.outer(np.arange(first, first + 40), frequencies)
    return longer * np.cos(angles), longer * np.sin(angles)


def forms(frequencies: Array, longer: float = 1.0) -> dict[str, Array]:
    cos, sin = waves(frequencies, longer=longer)
    return {
        "cosines": cos,
        "halves": np.concatenate([cos, cos], axis=1),
        "each-twice": np.repeat(cos, 2, axis=1),
        "side-by-side": np.concatenate([cos, sin], axis=1),
        "sines-first": np.concatenate([sin, cos], axis=1),
        "side-by-side-doubled": np.concatenate([cos, cos, sin, sin], axis=1),
        "stacked": np.stack([cos, sin]),
        "last-axis": np.stack([cos, sin], axis=-1),
        "by-turns": np.stack([cos, sin], axis=-1).reshape(len(cos), -1),
        "complex": cos + 1j * sin,
    }


def cases() -> Mapping[str, Array]:
    rules = {
        "common": (plain(), 1.0),
        "other-base": (plain(123456.0), 1.0),
        "llama-3.1": (posenc.llama3_frequencies(128, **LLAMA), 1.0),
        "gpt-oss": (posenc.yarn_frequencies(64, **GPT_OSS), 0.1 * np.log(32) + 1),
    }
    caches = {
        f"{rule}-{form}": array
        for rule, (frequencies, longer) in rules.items()
        for form, array in forms(frequencies, longer).items()
    }
    other = posenc.yarn_frequencies(64, base=2e4, factor=5.0, original_max_position_embeddings=8192)
    sevens = LLAMA | {"base": 7e4, "factor": 6.0}
    causal = np.tril(np.ones((8, 8), dtype=np.bool_))
    distance = np.arange(60) - np.arange(60)[:, None]
    return caches | {
        **{f"{rule}-frequencies": frequencies for rule, (frequencies, _) in rules.items()},
        "sine-of-position-7": np.concatenate(waves(plain(123456.0), first=7), axis=1),
        "frequencies-divided": plain() / 4,
        "frequencies-in-halves": np.tile(plain(), 2),
        "frequencies-each-twice": np.repeat(plain(), 2),
        "ntk": posenc.ntk_aware_frequencies(128, factor=8.0),
        "llama-of-no-model": posenc.llama3_frequencies(64, **sevens),
        "yarn-of-no-model": other,
        "yarn-cache-of-no-model": np.concatenate(waves(other), axis=1),
        "p-rope": posenc.p_rope_frequencies(128, base=123456.0, proportion=0.25),
        "slopes-8": posenc.alibi_slopes(8),
        "slopes-12": posenc.alibi_slopes(12),
        "slopes-reversed": posenc.alibi_slopes(12)[::-1],
        "causal": causal,
        "causal-ones": causal.astype(np.int64),
        "causal-added": np.where(causal, 0, -np.inf),
        "causal-inverted": ~causal,
        "window": posenc.sliding_window(40, 40, 8),
        "window-each-side": posenc.sliding_window(20, 20, 3, reach="window-each-side"),
        "chunked": posenc.chunked_mask(40, 40, 8),
        "t5": posenc.t5_bucket(distance, num_buckets=32, max_distance=128),
        "rows-of-a-table": posenc.relative_table_2d_rows(7, 7),
        "sinusoid": posenc.sinusoidal(range(40), 64),
        "grid": posenc.sincos_2d(6, 6, 32),
        "noise": np.random.default_rng(0).normal(size=(20, 16)),
        "squashed-noise": np.tanh(np.random.default_rng(0).normal(size=(40, 32))),
        "sorted": np.sort(np.random.default_rng(0).uniform(size=32))[::-1],
    }


CASES = {
    name: array.astype({"f": np.float32, "c": np.complex64}.get(array.dtype.kind, array.dtype))
    for name, array in cases().items()
}
ALSO = {"timestep", "sinusoidal"}
"""Additive encodings with tables like a cache of cosines next to sines; the page finds more."""


def text(array: Array) -> str:
    if array.dtype.kind == "c":
        return json.dumps([[f"{x.real:.8f}{x.imag:+.8f}j" for x in row] for row in array])
    return str(array.tolist())


@pytest.fixture(scope="session")
def said(page_schemes: list[Any], page_models: list[Any]) -> dict[str, Any]:
    """Return the page's answer to each array."""
    results = identified(page_schemes, *map(text, CASES.values()), models=page_models)
    return dict(zip(CASES, results, strict=True))


def of_page(answer: Any) -> set[tuple[str, bool]]:
    """Return the schemes in an answer, and whether a mistake is named with each."""
    named = {(e["scheme"], bool(e["mistake"]) or "but with" in e["what"]) for e in answer["told"]}
    return named | {(match["scheme"], bool(match["mistake"])) for match in answer["matches"]}


@pytest.mark.parametrize("name", CASES)
def test_the_page_and_the_command_name_the_same(name: str, said: dict[str, Any]) -> None:
    texts, _ = answers(Table(CASES[name]), schemes())
    expected = {(answer.partition(":")[0], "\n  but " in answer) for answer in texts}
    page = of_page(said[name])
    assert page - {(also, False) for also in ALSO} == expected - {(also, False) for also in ALSO}
    assert expected <= page


@pytest.mark.parametrize("name", CASES)
def test_the_page_names_the_models_that_the_command_names(name: str, said: dict[str, Any]) -> None:
    texts, _ = answers(Table(CASES[name]), schemes())
    lines = [line for entry in texts for line in entry.splitlines() if line.startswith("  as in ")]
    titles = {
        title.partition(" (")[0].partition(" and ")[0]
        for line in lines
        for title in line.removeprefix("  as in ").split(", ")
    }
    named = [title for entry in said[name]["told"] for title in entry["models"]]
    assert all(any(entry.startswith(title) for entry in named) for title in titles)
    assert bool(named) == bool(titles)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("llama-3.1-frequencies", "base 500,000"),
        ("other-base-halves", "in two equal halves, as for the layout half; 64 rotated channels"),
        ("other-base-each-twice", "each value twice, as for the layout interleaved"),
        (
            "other-base-side-by-side",
            "side by side, cosines first; 64 rotated channels, base 123,456",
        ),
        ("other-base-by-turns", "cosine and sine by turns"),
        ("gpt-oss-stacked", "made longer by 1.3466"),
        ("sine-of-position-7", "at positions 7 to 46"),
        ("frequencies-divided", "all divided by 4"),
        ("frequencies-in-halves", "in two equal halves"),
        ("ntk", "as NTK-aware scaling makes of 10,000 with factor 8"),
        ("llama-of-no-model", "base 70,000, factor 6, high_freq_factor 4"),
        ("yarn-of-no-model", "base 20,000, factor 5"),
        ("p-rope", "base 123,456, proportion 0.25"),
    ],
)
def test_form_and_parameters_are_named(name: str, words: str, said: dict[str, Any]) -> None:
    assert words in said[name]["told"][0]["what"]


USUAL = plain(pairs=64)
SCALED = posenc.llama3_frequencies(128, **LLAMA)


def printed(values: Array, form: str = ".6f") -> str:
    return f"[{', '.join(format(float(value), form) for value in values)}]"


def elided(values: Array) -> str:
    """Return values as PyTorch prints a long tensor."""
    head, tail = printed(values[:3], ".4e")[:-1], printed(values[-3:], ".4e")[1:]
    return f"tensor({head}, ..., {tail})"


FIRST_EIGHT = ("rope", "the first 8 of 64", "Llama 2 7B")
PARTS = {
    "llama-2-first-8": (printed(USUAL[:8]), FIRST_EIGHT),
    "llama-2-first-8-of-4-digits": (printed(USUAL[:8], ".4e"), FIRST_EIGHT),
    "llama-2-first-16": (printed(USUAL[:16]), ("rope", "the first 16 of 64", "Llama 2 7B")),
    "llama-3-first-8": (
        printed(plain(5e5, 64)[:8], ".7g"),
        ("rope", "the first 8 of 64", "Llama 3 8B"),
    ),
    "phi-4-first-32": (printed(plain(500.0), ".9g"), ("rope", "the first 32 of 64", "Phi-4")),
    "llama-2-elided": (elided(USUAL), ("rope", "the first 3 and the last 3 of 64", "Llama 2 7B")),
    "llama-3.1-elided": (
        elided(SCALED),
        ("llama3", "the first 3 and the last 3 of 64", "Llama 3.1 8B"),
    ),
    "row-of-512": (
        printed(posenc.sinusoidal([7], 512)[0, :6], ".4f"),
        ("sinusoidal", "the first 6 of 512", ""),
    ),
    "row-of-4": ("0.8415, 0.5403, 0.0100, 0.9999", ("sinusoidal", "position 1", "")),
}
"""Pasted text, and the scheme, words and model that the first answer must have."""
WHOLE = {
    "llama-2-whole": printed(USUAL, ".7g"),
    "no-usual-base": printed(plain(123456.0), ".9g"),
    "falling-noise": printed(np.sort(np.random.default_rng(0).uniform(size=8))[::-1]),
    "no-usual-base-elided": elided(plain(54321.0, 57)),
}
"""Text that is no part of a usual list."""


@pytest.fixture(scope="session")
def said_of_texts(page_schemes: list[Any], page_models: list[Any]) -> dict[str, Any]:
    texts = {name: text for name, (text, _) in PARTS.items()} | WHOLE
    results = identified(page_schemes, *texts.values(), models=page_models)
    return dict(zip(texts, results, strict=True))


def of_command(text: str) -> list[str]:
    array, grain, gap = numbers_of(Path("printed.txt"), text)
    return answers(Table(array, grain, gap=gap), schemes())[0]


def of_page_in_words(answer: Any) -> list[str]:
    lines = [f"{entry['scheme']}: {entry['what']} {entry['models']}" for entry in answer["told"]]
    return lines + [f"{entry['scheme']}: {entry['where']}" for entry in answer["matches"]]


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_usual_list_comes_first(name: str, said_of_texts: dict[str, Any]) -> None:
    text, (scheme, words, model) = PARTS[name]
    for texts in (of_command(text), of_page_in_words(said_of_texts[name])):
        assert texts[0].startswith(f"{scheme}: "), texts
        assert words in texts[0]
        assert any(model in answer for answer in texts)


@pytest.mark.parametrize("name", ["llama-2-first-8", "llama-3-first-8", "llama-2-first-16"])
def test_the_answer_for_a_part_by_itself_comes_last_and_is_doubted(
    name: str, said_of_texts: dict[str, Any]
) -> None:
    for texts in (of_command(PARTS[name][0]), of_page_in_words(said_of_texts[name])):
        doubted = ["part of a longer list" in answer for answer in texts]
        assert doubted == [False] * (len(texts) - 1) + [True], texts


@pytest.mark.parametrize("name", WHOLE)
def test_no_part_is_named_where_there_is_none(name: str, said_of_texts: dict[str, Any]) -> None:
    for texts in (of_command(WHOLE[name]), of_page_in_words(said_of_texts[name])):
        assert not [answer for answer in texts if "the first" in answer]


@pytest.mark.parametrize(
    "text",
    [
        "[[1, 2, ..., 4], [5, 6, 7, ..., 8]]",
        "[[1, 2], ..., [3, 4], ..., [5, 6]]",
        "[1, ..., 3, ..., 5]",
        "[..., 3, 4]",
        "[1, 2, ...]",
    ],
)
def test_other_omissions_are_refused(text: str, page_schemes: list[Any]) -> None:
    with pytest.raises(UserError, match="left out"):
        of_command(text)
    (answer,) = identified(page_schemes, text)
    assert "left out" in answer["refused"]
