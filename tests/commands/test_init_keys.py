"""``posenc init`` on calls that rotate queries and keys: the adapter judges both."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_lab.judging import Verdict, failed, judge, schemes
from tests.building import with_torch
from tests.commands.initialised import written
from tests.libraries import keys

pytestmark = pytest.mark.remembered(shipped=True)
OF_KEYS = [scheme for scheme in schemes() if scheme.id == "rope-kernel"]


def judged(path: Path) -> list[Verdict]:
    """Judge what an adapter claims of keys, with one example of each invariant."""
    adapter = load_adapter(str(path)).adapter
    return judge(adapter, ("smoke", "golden", "invariant"), examples=1, among=OF_KEYS)


def calls(path: Path) -> set[str]:
    return {each.call.name for each in subjects(load_adapter(str(path)).adapter, schemes())}


@pytest.mark.draws
@pytest.mark.parametrize(
    "library",
    with_torch(keys.RIGHT, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_right_keys_pass(
    folder: Path, library: keys.Library, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, f"right_keys_{library.name}", library.source)
    assert calls(path) == {"rope", "rope_query_key"}
    said = capsys.readouterr().out
    assert "nothing" not in said
    assert "not judged: keys" not in said
    verdicts = judged(path)
    assert "passed" in {verdict.verdict for verdict in verdicts}
    assert not [verdict.text for verdict in failed(verdicts)]


@pytest.mark.draws
@pytest.mark.parametrize(
    "library",
    with_torch(keys.WRONG, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_wrong_keys_fail_and_are_named(
    folder: Path, library: keys.Library, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, f"wrong_keys_{library.name}", library.source)
    assert "rope_query_key: " in capsys.readouterr().out
    assert "comes nearest to query-key-" in path.read_text(encoding="utf-8")
    texts = [verdict.text for verdict in failed(judged(path))]
    assert any(library.said in text for text in texts), texts[:1]


def test_keys_that_no_call_describes_are_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = "x[..., np.r_[0 : x.shape[-1] : 2, 1 : x.shape[-1] : 2]]"
    source = keys.ROTATIONS + (
        "\ndef rope(q, k, positions, base=10000.0):\n"
        f"    return tuple(halves({read}, positions, base) for x in (q, k))\n"
    )
    path = written(folder, "deepseek_keys", source)
    words = "not judged: keys, since rope_query_key has no interleaved-to-half"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")
    assert calls(path) == {"rope"}


def test_keys_that_are_not_returned_are_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = keys.ROTATIONS + "\ndef rope(q, k, positions):\n    return halves(q, positions)\n"
    path = written(folder, "unreturned_keys", source)
    assert "not judged: keys, since" in capsys.readouterr().out
    assert "not judged: keys, since" in path.read_text(encoding="utf-8")


def test_further_results_are_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = keys.ROTATIONS + (
        "\ndef rope(x, positions, base=10000.0):\n"
        "    return halves(x, positions, base), None\n"
        "\ndef sinusoidal_encoding(positions, dim):\n"
        "    angles = angles_of(positions, dim)\n"
        "    return np.concatenate([np.sin(angles), np.cos(angles)], -1), angles\n"
        "\nclass RotaryEmbedding:\n"
        "    def __call__(self, x, offset):\n"
        "        return halves(x, offset + np.arange(x.shape[-2])), offset\n"
    )
    path = written(folder, "further_results", source)
    assert capsys.readouterr().out.count("not judged: all results but the first") == 2
    assert calls(path) == {"rope", "sinusoidal"}


def test_keys_of_what_is_not_in_the_adapter_are_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = keys.MODULE.replace("KEYS", keys.OF_HALVES)
    second = keys.MODULE.replace("KEYS", "k").replace(keys.ROTATIONS, "").replace("Rotary", "Rope")
    written(folder, "two_of_keys", first + second)
    assert "and its keys were not looked at; to write one" in capsys.readouterr().out


@pytest.mark.slow
def test_the_scheme_of_keys_can_be_asked_for(folder: Path) -> None:
    source = keys.MODULE.replace("KEYS", keys.OF_HALVES)
    assert calls(written(folder, "asked_keys", source, "rope-kernel")) == {"rope_query_key"}
    assert calls(written(folder, "asked_rope", source, "rope")) == {"rope", "rope_query_key"}
