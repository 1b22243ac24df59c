import re
from itertools import permutations
from pathlib import Path

import numpy as np

import posenc

PAGE = Path(__file__).parents[2] / "learn" / "order.md"


def any_numbers() -> None:
    """With other parameters too, reordered rows give reordered results, for every order."""
    random = np.random.default_rng(5)
    rows, *tables = random.standard_normal((4, 4, 4))

    def result(rows: np.ndarray) -> np.ndarray:
        queries, keys, values = (rows @ table for table in tables)
        return np.asarray(posenc.attention(queries, keys, values))

    for order in map(list, permutations(range(4))):
        assert np.allclose(result(rows[order]), result(rows)[order], atol=1e-12)


def same_words() -> None:
    """The sentences of the first four lines of the table, sorted by words."""
    lines = re.findall(r"^\| [^|]* \| \*(.*?)\*, \*(.*?)\* \|$", PAGE.read_text("utf-8"), re.M)
    pairs = [re.split(r"\*, \*", " *, *".join(line)) for line in lines]
    assert len(pairs) == 4
    for pair in pairs:
        first, other = (sorted(re.findall(r"\w+", sentence.lower())) for sentence in pair)
        assert first == other, pair


def faded() -> None:
    """Ten halvings leave 1/1024."""
    assert 1000 <= 2**10 < 1025
