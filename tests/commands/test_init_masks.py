"""``posenc init`` on masks that take a window, or chunks, beside what their names say."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
OF_OFFSET = """
import numpy as np

def create_causal_mask(N, offset=0, window_size=None):
    columns = np.arange(offset + N)[None]
    rows = FIRST + np.arange(N)[:, None]
    mask = rows >= columns
    if window_size is not None:
        mask = mask & (rows < columns + WINDOW)
    return mask
"""
OF_LENGTHS = """
import numpy as np

def causal_mask(q_len, k_len, sliding_window=DEFAULT):
    rows, columns = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)[None]
    allowed = columns <= rows
    if sliding_window:
        allowed &= columns > rows - WINDOW
    return np.where(allowed, 0.0, -np.inf)
"""
NEEDED = """
import numpy as np

def make_NAME_mask(seq_len, window):
    rows, columns = np.arange(seq_len)[:, None], np.arange(seq_len)[None]
    return (columns <= rows) & (rows - columns < WINDOW)
"""
OF_CHUNKS = """
import numpy as np

def make_causal_mask(q_len, k_len, attention_chunk_size=None):
    rows, columns = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)[None]
    allowed = columns <= rows
    if attention_chunk_size is not None:
        allowed &= columns // attention_chunk_size == ROW // attention_chunk_size
    return allowed
"""
DILATED = """
import numpy as np

def sliding_window_mask(seq_len, window_size, dilation=1):
    distance = np.arange(seq_len)[:, None] - np.arange(seq_len)[None]
    near = distance < window_size * dilation
    return (distance >= 0) & near & (distance % dilation == 0)
"""
BOTH = {"causal-mask", "sliding-window"}
RIGHT = {
    "offset": (OF_OFFSET, {"FIRST": "offset", "WINDOW": "window_size"}, BOTH),
    "lengths": (OF_LENGTHS, {"DEFAULT": "None", "WINDOW": "sliding_window"}, BOTH),
    "always": (OF_LENGTHS, {"DEFAULT": "128", "WINDOW": "sliding_window"}, {"sliding-window"}),
    "needed": (NEEDED, {"NAME": "causal", "WINDOW": "window"}, {"sliding-window"}),
    "no word": (NEEDED, {"NAME": "attention", "WINDOW": "window"}, {"sliding-window"}),
    "chunks": (OF_CHUNKS, {"ROW": "rows"}, {"causal-mask", "chunked"}),
}
WRONG = {
    "offset": (OF_OFFSET, {"FIRST": "0", "WINDOW": "window_size"}, "start at position 0"),
    "window": (OF_OFFSET, {"FIRST": "offset", "WINDOW": "window_size - 1"}, "a window of 3"),
    "lengths": (OF_LENGTHS, {"DEFAULT": "None", "WINDOW": "sliding_window + 2"}, "fits nothing"),
    "needed": (NEEDED, {"NAME": "causal", "WINDOW": "window - 1"}, "a window of 3"),
    "chunks": (OF_CHUNKS, {"ROW": "(rows + 1)"}, "fits nothing"),
}


def _source(text: str, changes: dict[str, str]) -> str:
    for place, code in changes.items():
        text = text.replace(place, code)
    return text


def _judged(path: Path) -> tuple[set[str], set[str]]:
    """Return the schemes of an adapter's checks that ran, and those that failed."""
    among = [each for each in schemes() if each.family == "sparse"]
    verdicts = judge(load_adapter(str(path)).adapter, ("smoke", "golden"), 1, among=among)
    ran = {each.check.subject.scheme.id for each in verdicts}
    return ran, {each.check.subject.scheme.id for each in failed(verdicts)}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mask_is_judged_with_its_limit(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, changes, expected = RIGHT[name]
    path = written(folder, f"limited_{name.replace(' ', '_')}", _source(text, changes))
    assert "not judged" not in capsys.readouterr().out
    assert _judged(path) == (expected, set())


@pytest.mark.parametrize("name", WRONG)
def test_a_limit_that_is_wrong_is_claimed_and_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, changes, says = WRONG[name]
    path = written(folder, f"limited_wrong_{name}", _source(text, changes))
    said = capsys.readouterr().out
    assert says in said
    assert "not judged" not in said
    _, wrong = _judged(path)
    assert wrong == {"chunked" if name == "chunks" else "sliding-window"}


def test_a_dilation_that_no_convention_has_is_no_mistake(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "limited_dilated", DILATED)
    assert "not judged: dilation, which keeps its default" in capsys.readouterr().out
    assert _judged(path) == ({"sliding-window"}, set())
