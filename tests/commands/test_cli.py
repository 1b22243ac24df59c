"""The commands of posenc that need no test file of their own."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from posenc import __version__
from posenc_conformance.commands.cures import LINK, closeness, cure_of, symptoms
from posenc_conformance.commands.main import main
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all
from posenc_conformance.report.known import DRAFTED, UNSAID
from tests.reporting import summary_of

pytestmark = pytest.mark.remembered(shipped=True)


@pytest.mark.slow
def test_list_shows_what_is_installed_and_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for words in ("reference: installed", "transformers: ", "rope  half", "sinusoidal  fairseq"):
        assert words in shown


@pytest.mark.slow
def test_list_does_not_import_the_libraries() -> None:
    code = (
        "import sys; from posenc_conformance.commands.main import main; main(['list']); "
        "assert not {'torch', 'transformers', 'onnx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.slow
def test_an_adapter_for_a_library_that_is_not_there_judges_nothing_until_it_is_filled_in(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(pytester.path)
    assert main(["init", "mylib"]) == 0
    assert "nothing is judged until it is filled in" in capsys.readouterr().out
    path = Path("mylib_adapter.py")
    result = pytester.runpytest_subprocess(f"--impl={path}", "-q")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*claims nothing, so there is nothing to judge*", "*@claims*"])
    claimed = path.read_text(encoding="utf-8").replace("# @claims", "@claims")
    right = "import posenc\n        return posenc.rope(x, positions, base=base, layout='half')"
    for body, code in (
        (claimed, pytest.ExitCode.TESTS_FAILED),
        (re.sub(r"raise NotImpl.*", right, claimed), pytest.ExitCode.OK),
    ):
        path.write_text(body, encoding="utf-8")
        assert pytester.runpytest_subprocess(f"--impl={path}", "-q").ret == code


def test_init_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mylib_adapter.py").write_text("mine", encoding="utf-8")
    assert main(["init", "mylib"]) == 2
    assert Path("mylib_adapter.py").read_text(encoding="utf-8") == "mine"
    assert "hint" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["my lib", "../up", "1st", ""])
def test_init_refuses_invalid_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", name]) == 2
    assert list(tmp_path.iterdir()) == []


def test_goldens_of_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["goldens", "--check", "no-such.yaml"]) == 2
    assert "no-such.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("id", ["rope.yaml::golden::no-such[float32]", "nonsense", "::"])
def test_repro_of_an_unknown_check(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", id, "--impl=reference"]) == 2
    assert "hint" in capsys.readouterr().err


def test_repro_of_a_passing_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", "rope.yaml::golden::half-d2[float32]", "--impl=reference"]) == 2
    assert "passes" in capsys.readouterr().err


def check(id: str, verdict: str, worst: float = 0.5, **found: object) -> dict[str, object]:
    return {
        "id": id,
        "verdict": verdict,
        "level": "golden",
        "scheme": "rope",
        "call": "rope",
        "combination": "half",
        "dtype": "float32",
        "worst": worst,
        "exact_angles": None,
        "horizon": None,
        "horizon_is_claim": None,
        "curve": [],
        "left_out": "",
        "explanations": [],
        "message": "",
        **found,
    }


def whole(checks: list[dict[str, object]], horizon: int = 1024) -> str:
    counts = ("passed", "failed", "known", "blocked", "silent")
    none = dict.fromkeys(counts, 0)
    row = check("", "passed", 0.5, horizon=horizon) | none
    for name in ("id", "verdict", "level", "curve", "left_out", "explanations", "message"):
        del row[name]
    return json.dumps(
        {
            "posenc-report": 1,
            "kit": "0",
            "implementation": {"name": "mine", "versions": {}},
            "schemes": ["rope"],
            "summary": summary_of(checks),
            "rows": [row | {"combination": name} for name in ("half", "interleaved", "third")],
            "diagnoses": [],
            "checks": checks,
            "not_claimed": [],
            "not_asked": {},
            "combinations_not_claimed": {},
        }
    )


def report(verdicts: dict[str, str], worst: float = 0.5, horizon: int = 1024) -> str:
    return whole([check(id, verdict, worst) for id, verdict in verdicts.items()], horizon)


@pytest.mark.parametrize(
    ("before", "after", "code", "word"),
    [
        (report({"a": "failed"}), report({"a": "passed"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "failed"}), 1, "worse"),
        (report({"a": "passed"}), report({}), 1, "worse"),
        (report({}), report({"a": "passed"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "silent"}), 1, "worse"),
        (report({"a": "failed"}), report({"a": "known"}), 0, "better"),
        (report({"a": "passed"}), report({"a": "passed"}, worst=0.6), 0, "no difference"),
        (report({"a": "passed"}), report({"a": "passed"}, worst=0.05), 0, "better"),
        (report({"a": "passed"}), report({"a": "passed"}, horizon=512), 1, "worse"),
    ],
)
def test_diff(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: str,
    after: str,
    code: int,
    word: str,
) -> None:
    Path(tmp_path, "a.json").write_text(before, encoding="utf-8")
    Path(tmp_path, "b.json").write_text(after, encoding="utf-8")
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == code
    assert capsys.readouterr().out.startswith(word)


@pytest.mark.slow
def test_diff_has_the_same_order_in_every_process(tmp_path: Path) -> None:
    Path(tmp_path, "a.json").write_text(report({}), encoding="utf-8")
    Path(tmp_path, "b.json").write_text(report({}, horizon=512), encoding="utf-8")
    code = "from posenc_conformance.commands.main import main; main(['diff', 'a.json', 'b.json'])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for seed in ("1", "2", "3")
    }
    (lines,) = outputs
    assert [line.split()[2] for line in lines.splitlines()[1:]] == ["half", "interleaved", "third"]


CRIPPLED = {
    "a list": "[]",
    "no JSON": "{",
    "no format": "{}",
    "nothing else": '{"posenc-report": 1}',
    "another format": '{"posenc-report": 2, "checks": []}',
    "deep": "[" * 100_000,
    "a number for the checks": whole([]).replace('"checks": []', '"checks": 7'),
    "a check without an id": whole([check("a", "failed")]).replace('"id": "a", ', ""),
    "an unknown verdict": whole([check("a", "excellent")]),
    "explanations of another form": whole([check("a", "failed", explanations=["x"])]),
    "a text for a number": whole([check("a", "passed", worst="much")]),  # type: ignore[arg-type]  # the mistake
}


@pytest.mark.parametrize("text", CRIPPLED.values(), ids=CRIPPLED)
@pytest.mark.parametrize("command", [["diff", "a.json", "a.json"], ["known", "a.json", "k.yaml"]])
def test_an_invalid_report_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(text, encoding="utf-8")
    assert main(command) == 2
    message = capsys.readouterr().err
    assert "a.json" in message
    assert "--posenc-report" in message
    assert len(message.splitlines()) == 2
    assert not Path("k.yaml").exists()


FAILED = [
    check("a", "failed", explanations=[["wrong-base", "base 500"], ["other", "x"]]),
    check("b", "passed"),
    check("c", "failed", explanations=[["wrong-base", "base 500"]]),
    check("d", "failed", message="golden d of Rotary\ncall x\npattern    every position"),
    check("e", "failed", message="golden e: rope() raised ValueError: no\n  file:1"),
    check("f", "failed", message="behaviour f: rope() raised ValueError: no"),
]


def test_known_puts_failures_of_one_cause_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.json").write_text(whole(FAILED), encoding="utf-8")
    Path("known.yaml.part").write_text("mine", encoding="utf-8")
    assert main(["known", "r.json", "known.yaml"]) == 0
    named, seen, raised = yaml.safe_load(Path("known.yaml").read_text("utf-8"))["failures"]
    assert named["ids"] == ["a", "c"]
    assert named["reason"].startswith(DRAFTED)
    assert "wrong-base" in named["reason"]
    said = capsys.readouterr().out
    assert f"begins with {DRAFTED!r}" in said
    assert f"begins with {UNSAID!r}" in said
    assert seen["id"] == "d"
    assert seen["reason"].startswith(UNSAID)
    assert raised["ids"] == ["e", "f"]
    assert raised["reason"].startswith(UNSAID)
    assert "ValueError" in raised["reason"]
    assert Path("known.yaml.part").read_text("utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "known.yaml",
        "known.yaml.part",
        "r.json",
    ]


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yaml/known.yaml", "."])
def test_known_destroys_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.json").write_text(whole(FAILED), encoding="utf-8")
    Path("mine.yaml").write_text("mine", encoding="utf-8")
    assert main(["known", "r.json", name]) == 2
    assert "hint" in capsys.readouterr().err
    assert Path("mine.yaml").read_text("utf-8") == "mine"


def test_schemes_lists_calls_and_combinations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes"]) == 0
    shown = capsys.readouterr().out
    for words in ("rotary: rope", "rope(x, positions, *, base", "interleaved, half", "t5_bucket"):
        assert words in shown


def test_schemes_describes_one_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes", "rope", "t5_bias"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    rope = next(scheme for scheme in load_all() if scheme.id == "rope")
    for parameter in rope.calls["rope"].parameters.values():
        assert f"{parameter.name} ({parameter.type}" in shown
        assert parameter.description in shown
    for axis in rope.conventions.values():
        assert axis.description in shown
        for value, text in axis.values.items():
            assert f"{value}: {text}" in shown
    assert "t5_bucket(" in shown


def test_explain_describes_a_deviation(capsys: pytest.CaptureFixture[str]) -> None:
    deviation = next(d for s in load_all() if s.id == "rope" for d in s.deviations)
    assert main(["explain", "rope", deviation.id]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert deviation.description in shown
    assert deviation.effect in shown
    assert all(link in shown for link in deviation.links)
    assert main(["explain", "rope"]) == 0
    assert "sign-flipped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["schemes", "rop"], "rope"),
        (["explain", "ropes"], "rope"),
        (["explain", "rope", "sign-fliped"], "sign-flipped"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(
    capsys: pytest.CaptureFixture[str], command: list[str], word: str
) -> None:
    assert main(command) == 2
    assert repr(word) in capsys.readouterr().err


def test_init_writes_the_calls_of_schemes_as_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mylib", "alibi", "sinusoidal"]) == 0
    text = Path("mylib_adapter.py").read_text(encoding="utf-8")
    assert "# def alibi_bias(self, heads, q_len, k_len, *, form, head_rule, dtype):" in text
    before, end, after = text.partition('"call mylib here")\n')
    stubs = after.replace("    # ", "    ")
    compile(f"{before}{end}{stubs}", "mylib_adapter.py", "exec")


def test_init_of_an_unknown_scheme_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mylib", "ropes"]) == 2
    assert "rope" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "identify" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"posenc {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("posenc ide", ["identify"]),
        ("posenc model", ["model"]),
        ("posenc explain alib", ["alibi"]),
        ("posenc model llama-3.1-4", ["llama-3.1-405b"]),
        ("posenc repro --posenc-se", ["--posenc-seed"]),
        ("posenc completion f", ["fish"]),
        ("posenc identify table", []),  # the shell offers files then
    ],
)
def test_completion_in_bash(
    typed: str, offered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    words = typed.split()
    asked = (
        f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
        f"_posenc posenc {words[-1]}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    script = f"{capsys.readouterr().out}\n{asked}"
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == offered
    assert not shown.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_in_other_shells_has_each_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    for words in ("identify", "llama-3.1-8b", "posenc-seed", "bash zsh fish"):
        assert words in shown
    if path := shutil.which(shell):
        subprocess.run([path, "-n", "-c", shown], check=True)


def test_explain_has_a_cure_for_each_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    for scheme in load_all():
        assert all(cure_of(scheme, deviation) for deviation in scheme.deviations)
    assert main(["explain", "rope", "wrong-base", "layout-swapped"]) == 0
    shown = capsys.readouterr().out
    for words in ("fix: Read rope_theta", "fix: Permute the rows", "(theory/layouts.md)"):
        assert words in shown


OTHERS: dict[str, Callable[[KnownScheme, str], bool]] = {
    "attention kernel": lambda scheme, id: "bias" not in id,
    "Permute the rows": lambda scheme, id: "layout-swapped" not in id and scheme.id != "permute-qk",
    "rope_theta": lambda scheme, id: scheme.family not in ("rotary", "attention"),
    "gradient of a rotation": lambda scheme, id: scheme.family != "rotary",
    "Turn counter-clockwise": lambda scheme, id: scheme.family not in ("rotary", "attention"),
    "penalties": lambda scheme, id: scheme.family not in ("bias", "position-ids"),
    "larger position than the query's": lambda scheme, id: scheme.id == "bigbird",
    " below.": lambda scheme, id: True,
}
"""Words of cures, and whether they are foreign to a mistake, by its scheme and id."""


def test_no_mistake_has_the_cure_of_another() -> None:
    cures = [(s, d.id, cure_of(s, d)) for s in load_all() for d in s.deviations]
    for words, is_foreign in OTHERS.items():
        assert not [(s.id, id) for s, id, cure in cures if words in cure and is_foreign(s, id)]


@pytest.mark.parametrize(
    ("scheme", "id", "words"),
    [
        ("rope", "tables-mixed", "permuting weights does not help"),
        ("rope", "layout-swapped", "Permute the rows of the query and key projections"),
        ("rope-kernel", "keys-unrotated", "use what the rotation returns."),
        ("attention", "bias-ignored", "the attention kernel really adds the bias"),
        ("pope", "frequencies-of-pairs", "base ** (-j / d)"),
        ("rope", "exponent-halved", "base ** (-2 * t / d)"),
        ("alibi", "bias-sign-flipped", "Subtract penalties"),
        ("rope", "sign-flipped", "counter-clockwise by position × frequency."),
        ("sliding-window", "window-off-by-one", "Count the keys of a window"),
        ("yarn", "ramp-swapped", "Compute the ramp"),
        ("llama3", "wrong-base", "Read rope_theta"),
    ],
)
def test_a_cure_is_that_of_its_mistake(scheme: str, id: str, words: str) -> None:
    (found,) = (each for each in load_all() if each.id == scheme)
    (deviation,) = (each for each in found.deviations if each.id == id)
    assert words in cure_of(found, deviation)


def test_each_cure_of_some_mistakes_is_that_of_one() -> None:
    """A pattern that fits nothing was written for a mistake that has another symptom, or name."""
    cures = {cure_of(s, d) for s in load_all() for d in s.deviations}
    written = [each["cure"] for symptom in symptoms() for each in symptom.cures]
    plain = [LINK.sub(r"\1 (\2)", cure.strip()).replace("`", "") for cure in written]
    assert not {*plain} - cures
    assert len(plain) > 50


def test_the_most_exact_symptom_has_the_cure() -> None:
    rope = next(scheme for scheme in load_all() if scheme.id == "rope")
    deviation = rope.deviations[0]
    assert closeness({"classes": [deviation.kind]}, rope, deviation) == 2
    assert closeness({"classes": [deviation.kind], "ids": ["layout.*"]}, rope, deviation) == 3
    assert closeness({"schemes": ["rope"]}, rope, deviation) == 1
    assert closeness({"ids": ["layout.*"], "families": ["bias"]}, rope, deviation) == 0
    assert cure_of(rope, replace(deviation, id="own", kind="own")) == ""
