"""A folder's long texts that begin alike: the beginning is computed once, and read as if anew."""

import pytest

from posenc_conformance.deployed.callables import (
    LEAST_REUSED,
    Kind,
    Running,
    Transformers,
    load_folder,
)
from posenc_lab.deployed.judging import folder_of

FILLER, OTHER, KEY, QUERY = 7, 8, 30, 400


def loaded(config: str) -> Transformers:
    probe = folder_of(config) / "probe"
    return load_folder(str(probe), "float32", Kind.WRITES, Running())


def text_of(engine: Transformers, *behind: int, first: int = FILLER) -> list[int]:
    """Return a long text with some tokens at its end."""
    last = len(engine.words) - 1
    return [first, *[FILLER] * (LEAST_REUSED + 100), *(min(token, last) for token in behind)]


def cached(engine: Transformers) -> int:
    """Return the number of tokens whose keys are kept; 0 if none are."""
    return sum(int(cache.get_seq_length()) for _, cache in engine.last)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["llama", "mistral"])
def test_a_text_is_read_alike_with_and_without_a_kept_beginning(config: str) -> None:
    engine, fresh = loaded(config), loaded(config)
    texts = [text_of(engine, KEY, FILLER, QUERY), text_of(engine, FILLER, KEY, QUERY)]
    for text in (*texts, texts[0], texts[0][:-1], [OTHER, *texts[0]]):
        again, anew = engine.read(text, 3), fresh.read(text, 3)
        fresh.last.clear()
        for one, other in zip(again, anew, strict=True):
            assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.slow
def test_only_caches_with_a_row_for_each_token_are_kept() -> None:
    whole, windows = loaded("llama"), loaded("mistral")
    for engine in (whole, windows):
        engine.read(text_of(engine, KEY), 1)
    assert cached(whole) > LEAST_REUSED
    assert not cached(windows)


@pytest.mark.slow
def test_a_kept_beginning_is_cut_where_the_next_text_differs() -> None:
    engine = loaded("llama")
    engine.read(text_of(engine, KEY, KEY), 1)
    text = text_of(engine, FILLER, KEY)
    kept = engine._kept(text)
    assert kept is not None
    assert kept.get_seq_length() == len(text) - 2
    engine.read(text, 1)
    assert engine._kept(text_of(engine, first=OTHER)) is None
