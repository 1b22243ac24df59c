"""Adapters in the judge's own process that try to leave, break or deceive a check."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.errors import LONGEST_TEXT, UserError
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour, Refusal
from posenc_conformance.remote.load import How, Isolation, load
from posenc_lab.judging import schemes
from tests.building import CHECKOUT
from tests.mischief import ESCAPES, FORMS, LIAR, REFUSALS, SLOPES, ask_smallest

pytestmark = pytest.mark.remembered(shipped=True)

Provoke = Callable[[str], np.ndarray]
HIDDEN = tuple(name for name in REFUSALS if name.startswith("imports-"))
"""Imports of the answers, which are hidden only from adapters in another process."""
ELSEWHERE = ("interrupt", "input", "breakpoint", *HIDDEN)


@pytest.fixture(scope="module")
def provoke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provoke]:
    """Yield a function that runs mischief in a call and checks that the next call is right."""
    folder = tmp_path_factory.mktemp("here")
    shutil.copy(CHECKOUT / "tests" / "programs" / "culprit_adapter.py", folder)
    loaded = load(str(folder / "culprit_adapter.py"), How(Isolation.HERE), schemes())
    (subject,) = subjects(loaded.adapter, schemes())

    def provoked(mischief: str) -> np.ndarray:
        (folder / "mischief.py").write_text(mischief)
        try:
            return ask_smallest(subject)
        finally:
            assert not (folder / "mischief.py").exists()
            assert np.array_equal(ask_smallest(subject), SLOPES)

    yield provoked
    loaded.end()


EXITS = {
    "exits-at-once": ("import os; os._exit(0)", "SystemExit: os._exit(0)"),
    "exits-at-once-with-5": ("import os; os._exit(5)", "SystemExit: os._exit(5)"),
    "exits-by-a-name-of-its-own": ("from os import _exit; _exit(0)", "SystemExit: os._exit(0)"),
}
LEAVES = EXITS | {name: action for name, action in ESCAPES.items() if name not in ELSEWHERE}


@pytest.mark.parametrize("name", LEAVES)
def test_leaving_the_check_fails_it(provoke: Provoke, name: str) -> None:
    mischief, words = LEAVES[name]
    with pytest.raises(Escape) as raised:
        provoke(mischief)
    assert f"alibi_slopes() raised {words}" in str(raised.value)
    assert "call       alibi_slopes(heads=8" in str(raised.value)


@pytest.mark.parametrize("name", [name for name in REFUSALS if name not in ELSEWHERE])
def test_an_exception_is_a_refusal(provoke: Provoke, name: str) -> None:
    mischief, words = REFUSALS[name]
    with pytest.raises(Refusal) as raised:
        provoke(mischief)
    text = str(raised.value)
    assert words in text
    assert "mischief" in text  # the line that raised it
    assert len(text) < 3 * LONGEST_TEXT
    assert not {"\x00", "\x1b"} & set(text)
    text.encode()


ORDINARY = {
    "text": "returned shape (); expected (8,)",
    "bytes": "returned shape (); expected (8,)",
    "complex": "returned complex128; expected float64",
    "dates": "returned datetime64[s]; expected float64",
    "fields": "returned void64; expected float64",
    "huge": "returned shape (1099511627776, 8); expected (8,)",
}
"""Messages that differ here, where no result is sent to another process."""


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_result_of_a_wrong_form_is_reported(provoke: Provoke, name: str) -> None:
    result, words = FORMS[name]
    with pytest.raises(Misbehaviour) as raised:
        provoke(f"result = {result}")
    assert type(raised.value) is Misbehaviour
    assert ORDINARY.get(name, words) in str(raised.value)


def test_an_array_subclass_is_judged_by_its_values(provoke: Provoke) -> None:
    result = provoke(LIAR)
    assert type(result) is np.ndarray
    assert np.array_equal(result, np.zeros(8))


def test_a_forked_child_may_exit(provoke: Provoke) -> None:
    forks = "import os\nif os.fork() == 0: os._exit(7)\nresult = right + (os.wait()[1] >> 8)"
    assert np.array_equal(provoke(forks), SLOPES + 7)


def test_an_adapter_that_exits_while_loading_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import os\nos._exit(0)\n")
    with pytest.raises(Exception, match=rf"SystemExit: os._exit\(0\) \({path}:2\)"):
        load(str(path), How(Isolation.HERE), schemes())


@pytest.mark.parametrize("ending", ["", ":nothing"])
def test_a_file_is_called_as_its_user_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Never by the name of the module that the kit makes of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank_adapter.py").write_text("class Adapter:\n    pass\n")
    with pytest.raises(UserError) as raised:
        loaded = load(f"blank_adapter.py{ending}", How(Isolation.HERE), schemes())
        subjects(loaded.adapter, schemes())
    assert "blank_adapter.py " in raised.value.cause
    assert "posenc_adapter_" not in str(raised.value)
