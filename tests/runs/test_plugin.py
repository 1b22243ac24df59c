"""The plugin on the command line: names, paths, ids, options, exit codes, and bad adapters."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from posenc_conformance.commands.main import main

pytestmark = pytest.mark.remembered(shipped=True)

ROPE = """
import numpy as np
from posenc_conformance import claims

class Adapter:
    {claim}
    def rope(self, x, positions{keywords}):
        {body}
"""
RIGHT = """
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
ONE = '@claims("half", dtype="float32", base=10000.0)'


def adapter(body: str = RIGHT, claim: str = ONE, keywords: str = "") -> str:
    return ROPE.format(claim=claim, keywords=keywords, body=body.strip())


Judge = Callable[..., pytest.RunResult]


@pytest.fixture
def judge(pytester: pytest.Pytester) -> Judge:
    """Return a function that writes an adapter to mine.py and judges it in a folder of its own."""

    def run(source: str, *options: str, impl: str = "mine.py") -> pytest.RunResult:
        Path(pytester.path, "mine.py").write_text(source, encoding="utf-8")
        return pytester.runpytest_subprocess(f"--impl={impl}", "-p", "no:cacheprovider", *options)

    return run


@pytest.mark.slow
def test_a_right_adapter_passes_and_unclaimed_calls_are_listed(judge: Judge) -> None:
    result = judge(adapter())
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*scorecard: mine.py*", "rope*half*float32*2^16+*", "not claimed: *"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("impl", ["mine.py", "mine:Adapter", "mine.py:Adapter", "./mine.py"])
def test_every_way_to_name_an_implementation(judge: Judge, impl: str) -> None:
    assert judge(adapter(), "-q", "-k", "golden", impl=impl).ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_module_of_functions_is_an_adapter(judge: Judge) -> None:
    source = adapter().replace("class Adapter:", "if True:").replace("self, ", "")
    assert judge(source, "-q", "-k", "golden").ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_wrong_adapter_fails_and_its_mistake_is_named(judge: Judge) -> None:
    wrong = RIGHT.replace("a * s + b * c", "b * c - a * s").replace("- b * s", "+ b * s")
    result = judge(adapter(wrong))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*diagnosis*", "*sign-flipped*"])


@pytest.mark.slow
def test_ids_select_checks_in_any_folder(judge: Judge) -> None:
    result = judge(adapter(), "-v", "rope.yaml::golden::half-d4-start")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*half-d4-start[[]float32[]] PASSED*"])


@pytest.mark.slow
def test_levels_and_schemes_are_markers(judge: Judge) -> None:
    both = judge(adapter(), "-q", "--strict-markers", "-m", "rope and smoke")
    both.assert_outcomes(passed=1, deselected=both.parseoutcomes()["deselected"])
    assert judge(adapter(), "-q", "-m", "alibi").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.slow
def test_last_failed_runs_again_what_failed(pytester: pytest.Pytester) -> None:
    Path(pytester.path, "mine.py").write_text(adapter("return x"), encoding="utf-8")
    first = pytester.runpytest_subprocess("--impl=mine.py", "-q")
    again = pytester.runpytest_subprocess("--impl=mine.py", "-q", "--lf")
    assert first.parseoutcomes()["failed"] == again.parseoutcomes()["failed"] > 0
    assert "passed" not in again.parseoutcomes()


@pytest.mark.slow
def test_several_processes_give_the_same_verdicts(judge: Judge) -> None:
    single, two = judge(adapter()), judge(adapter(), "-n", "2")
    assert single.parseoutcomes()["passed"] == two.parseoutcomes()["passed"]
    two.stdout.fnmatch_lines(["*scorecard*", "rope*half*"])


@pytest.mark.slow
def test_the_report_obeys_its_schema_and_adds_up(judge: Judge, pytester: pytest.Pytester) -> None:
    judge(adapter("return x"), "--posenc-report=r.json")
    report = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))
    schema = (
        files("posenc_conformance")
        .joinpath("report/report.schema.json")
        .read_text(encoding="utf-8")
    )
    jsonschema.validate(report, json.loads(schema))
    summary = report["summary"]
    assert summary["checks"] == sum(summary.values()) - summary["checks"]
    assert summary["failed"] == sum(row["failed"] for row in report["rows"]) > 0
    assert len(report["not_claimed"]) == summary["not_claimed"] > 0
    (diagnosis,) = report["diagnoses"]
    assert diagnosis["explained_by"][0]["deviation"] == "unrotated"


@pytest.mark.slow
def test_a_selection_does_not_make_checks_vanish(judge: Judge, pytester: pytest.Pytester) -> None:
    """Selecting some checks of a scheme, as by its path, counts all of them."""
    counts = []
    for options in (("rope.yaml",), ("-k", "smoke"), ("-x", "rope.yaml"), ("-m", "rope")):
        judge(adapter(), "-q", "--posenc-report=r.json", *options)
        counts.append(json.loads(Path(pytester.path, "r.json").read_text())["summary"])
    assert len({count["checks"] for count in counts}) == 1
    assert counts[0]["not_selected"] == 0 < counts[1]["not_selected"]
    assert counts[0] == counts[3]


KEPT = """
def pytest_sessionfinish(session):
    subjects = session.config.pluginmanager.get_plugin("posenc-run").judgements[""].plan.subjects
    known = [each for each in subjects if each.history.found or each.history.calls]
    print("kept:", len(known), "of", len(subjects))
"""


@pytest.mark.slow
@pytest.mark.parametrize("body", [RIGHT, "return -x"])
def test_nothing_is_kept_of_a_finished_scheme(
    body: str, judge: Judge, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(KEPT)
    judge(adapter(body), "-s").stdout.fnmatch_lines(["*kept: 0 of 1"])


@pytest.mark.slow
def test_smoke_blocks_the_rest(judge: Judge, pytester: pytest.Pytester) -> None:
    result = judge(adapter("raise RuntimeError('no kernel')"), "--posenc-report=r.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    summary = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))["summary"]
    assert (summary["failed"], summary["passed"]) == (1, 0)
    assert summary["blocked"] > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no kernel')", ["*RuntimeError: no kernel*", "*mine.py:*in rope*"]),
        ("return x[..., :-1]", ["*returned shape (2, 6, 7); expected (2, 6, 8)*"]),
        ("return x.astype(np.float64)", ["*returned float64; expected float32*"]),
        ("return x * np.nan", ["*nan at index*"]),
        ("return None", ["*rope() returned None*return missing*"]),
        ("return [[1.0], [1.0, 2.0]]", ["*rope() returned a list*an array*"]),
        ("import sys; sys.exit(0)", ["*rope() raised SystemExit: 0*"]),
        ("import pytest; pytest.skip('no GPU')", ["*rope() raised Skipped: no GPU*"]),
        ("import pytest; pytest.exit('done')", ["*rope() raised Exit: done*"]),
        ("raise GeneratorExit", ["*rope() raised GeneratorExit*"]),
    ],
)
def test_bad_results_are_explained_without_the_kits_insides(
    judge: Judge, body: str, words: list[str]
) -> None:
    result = judge(adapter(body), "-q")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(words)
    assert result.parseoutcomes().keys() == {"failed", "blocked"}
    assert "posenc_conformance/subject.py" not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "impl", "words"),
    [
        ("", "nobody", ["*no implementation is called 'nobody'*", "*hint: *"]),
        ("", "referense", ["*did you mean 'reference'*"]),
        ("", "gone.py", ["*no file*gone.py*"]),
        ("", "nowhere:Adapter", ["*No module named 'nowhere'*", "*hint: *"]),
        ("import numpyy", "mine.py", ["*No module named 'numpyy'*mine.py:1*", "*hint: install*"]),
        ("x = 1 / 0", "mine.py", ["*ZeroDivisionError*mine.py:1*"]),
        ("def f(:", "mine.py", ["*SyntaxError*mine.py:1*"]),
        ("class Adapter: pass", "mine:Adaptor", ["*did you mean 'Adapter'*"]),
        ("class Adapter: pass", "mine:Adapter", ["*claims nothing*", "*hint: put @claims*"]),
        (
            "class Adapter:\n    def __init__(self):\n        raise OSError('no GPU')\n"
            "    from posenc_conformance import claims\n    @claims('half')\n"
            "    def rope(self, x, positions, *, base): return x\n",
            "mine.py",
            ["*OSError: no GPU*mine.py:3*"],
        ),
        (adapter() + adapter().replace("Adapter", "Other"), "mine.py", ["*2 adapters*", "*Other*"]),
        (adapter(claim='@claims("halves")'), "mine.py", ["*unknown combination*", "*half*"]),
        (adapter(claim='@claims(layout="halves")'), "mine.py", ["*unknown convention*", "*half*"]),
        (adapter(claim='@claims("half", dtype="fp8")'), "mine.py", ["*dtype 'fp8'*", "*float32*"]),
        (adapter(claim='@claims("half", theta=1.0)'), "mine.py", ["*'theta'*", "*base*"]),
        (adapter(claim='@claims("half")'), "mine.py", ["*more than one base*", "*hint: *base*"]),
        (adapter(keywords=", *, cache"), "mine.py", ["*requires 'cache'*"]),
        (
            adapter().replace("x, positions", "x"),
            "mine.py",
            ["*positional arguments*", "*positions*"],
        ),
        (adapter().replace("def rope", "def ropes"), "mine.py", ["*no scheme has a call 'ropes'*"]),
    ],
)
def test_bad_adapters_are_refused_before_work_starts(
    judge: Judge, source: str, impl: str, words: list[str]
) -> None:
    result = judge(source, impl=impl)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(words)
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--posenc-report=/dev/null/r.json", ["*cannot be written*", "*hint: *"]),
        ("--posenc-report=.", ["*is a folder*", "*hint: *"]),
        ("--posenc-examples=0", ["*draws nothing*"]),
    ],
)
def test_bad_options_are_refused_before_work_starts(
    judge: Judge, option: str, words: list[str]
) -> None:
    result = judge(adapter(), option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(words)


@pytest.mark.slow
def test_silence_on_bad_input_has_its_own_level(judge: Judge, pytester: pytest.Pytester) -> None:
    careless = adapter(
        RIGHT.replace(
            "half = x", "x = np.append(x, x, -1) if x.shape[-1] % 2 else x\n        half = x"
        )
    )
    shown = judge(careless)
    assert shown.ret == pytest.ExitCode.OK
    shown.stdout.fnmatch_lines(["robustness", "*odd-head-dim*"])
    strict = judge(careless, "--posenc-robust", "--posenc-report=r.json")
    assert strict.ret == pytest.ExitCode.TESTS_FAILED
    summary = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))["summary"]
    assert (summary["failed"], summary["silent"]) == (1, 0)


KNOWN = """posenc-known-failures: 1
failures:
  - id: rope.yaml::golden::half-d2[float32]
    reason: the one pair is left alone
"""


@pytest.mark.slow
def test_known_failures_are_shown_and_do_not_fail_the_run(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    lazy = adapter("return x if x.shape[-1] == 2 else self.right(x, positions)") + (
        "\n    def right(self, x, positions):\n        " + RIGHT.strip()
    )
    result = judge(lazy, "-m", "golden")
    result.assert_outcomes(
        failed=1,
        passed=result.parseoutcomes()["passed"],
        deselected=result.parseoutcomes()["deselected"],
    )
    Path(pytester.path, "known.yaml").write_text(KNOWN, encoding="utf-8")
    shown = judge(lazy, "-m", "golden", "--posenc-known=known.yaml")
    assert shown.ret == pytest.ExitCode.OK
    assert shown.parseoutcomes()["known"] == 1
    shown.stdout.fnmatch_lines(["known failures", "*the one pair is left alone*"])


@pytest.mark.slow
def test_a_known_failure_that_passes_fails_the_run(judge: Judge, pytester: pytest.Pytester) -> None:
    Path(pytester.path, "known.yaml").write_text(KNOWN, encoding="utf-8")
    result = judge(adapter(), "--posenc-known=known.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*passes, but is known to fail: the one pair is left alone*"])


@pytest.mark.slow
def test_a_known_failure_that_is_blocked_fails_the_run(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    Path(pytester.path, "known.yaml").write_text(KNOWN, encoding="utf-8")
    result = judge(adapter("return None"), "--posenc-known=known.yaml", "-k", "half-d2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*is blocked, but is known to fail: the one pair is left alone*"])


@pytest.mark.slow
def test_known_silence_is_known_with_and_without_robust(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    careless = adapter("return x.copy()")
    silent = judge(careless, "--posenc-report=r.json", "-m", "robust")
    assert silent.parseoutcomes()["silent"]
    checks = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))["checks"]
    (id,) = [check["id"] for check in checks if "odd-head-dim" in check["id"]]
    text = f"posenc-known-failures: 1\nfailures:\n  - id: {id}\n    reason: it answers\n"
    Path(pytester.path, "known.yaml").write_text(text, encoding="utf-8")
    for options in ((), ("--posenc-robust",)):
        result = judge(careless, "--posenc-known=known.yaml", "-k", "odd-head-dim", *options)
        assert result.ret == pytest.ExitCode.OK
        assert result.parseoutcomes()["known"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("failures: []", "*does not begin with*"),
        ("[", "*known.yaml:*"),
        ("posenc-known-failures: 1\nfailures: all", "*no list*"),
        (KNOWN.replace("    reason: the one pair is left alone\n", ""), "*needs an id and*"),
        (KNOWN.replace("reason", "because"), "*not an entry*"),
        (
            KNOWN.replace("half-d2", "half-d3"),
            "*matches no check of what the implementation claims*",
        ),
        (KNOWN + KNOWN.partition("failures:\n")[2], "*given twice*"),
    ],
)
def test_a_bad_file_of_known_failures_is_refused(
    judge: Judge, pytester: pytest.Pytester, text: str, words: str
) -> None:
    Path(pytester.path, "known.yaml").write_text(text, encoding="utf-8")
    result = judge(adapter(), "--posenc-known=known.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words, "hint: *"])


@pytest.mark.slow
def test_known_failures_are_written_from_a_report(
    judge: Judge,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge(adapter("return x"), "-q", "--posenc-report=r.json")
    monkeypatch.chdir(pytester.path)
    assert main(["known", "r.json", "known.yaml"]) == 0
    drafted = Path("known.yaml").read_text(encoding="utf-8")
    unedited = judge(adapter("return x"), "-q", "--posenc-known=known.yaml")
    assert (unedited.ret == pytest.ExitCode.USAGE_ERROR) == ("say why: " in drafted)
    Path("known.yaml").write_text(drafted.replace("say why: ", ""), encoding="utf-8")
    result = judge(adapter("return x"), "-q", "--posenc-known=known.yaml")
    assert result.ret == pytest.ExitCode.OK
    assert ("known only by drafts: " in result.stdout.str()) == ("draft: " in drafted)
    accepted = drafted.replace("say why: ", "").replace("draft: ", "")
    Path("known.yaml").write_text(accepted, encoding="utf-8")
    result = judge(adapter("return x"), "-q", "--posenc-known=known.yaml")
    assert result.ret == pytest.ExitCode.OK
    assert "known only by drafts" not in result.stdout.str()
    assert main(["known", "r.json", "known.yaml"]) == 2
    assert main(["known", "mine.py", "other.yaml"]) == 2
    assert not Path("other.yaml").exists()


@pytest.mark.slow
def test_another_seed_and_more_examples_agree_on_a_right_adapter(judge: Judge) -> None:
    result = judge(adapter(), "-q", "--posenc-seed=7", "--posenc-examples=40", "-m", "invariant")
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_mistake_in_a_scheme_file_names_file_line_and_field(pytester: pytest.Pytester) -> None:
    from posenc_conformance.scheme_file.read import paths_by_name

    text = paths_by_name()["rope"].read_text(encoding="utf-8")
    broken = Path(pytester.path, "rope.yaml")
    broken.write_text(text.replace("kills: ", "kill: ", 1), encoding="utf-8")
    line = 1 + text[: text.index("kills: ")].count("\n")
    result = pytester.runpytest_subprocess("--impl=reference", "rope.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    first_golden = next(n for n, t in enumerate(text.splitlines(), 1) if "id: interleaved-d4" in t)
    assert abs(line - first_golden) < 6
    result.stderr.fnmatch_lines([f"*rope.yaml:{first_golden}: goldens.0*"])


@pytest.mark.slow
def test_without_impl_nothing_of_the_kit_is_imported(tmp_path: Path) -> None:
    Path(tmp_path, "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    code = (
        "import sys, pytest; "
        "assert pytest.main(['-q', '-p', 'posenc_conformance.plugin']) == 0; "
        "print('loaded', sorted(m for m in sys.modules if m.split('.')[0] in "
        "('numpy', 'posenc', 'yaml', 'ml_dtypes', 'posenc_conformance')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # others may need NumPy
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout[done.stdout.index("loaded") :]
    assert "posenc_conformance.plugin" in loaded
    assert not any(name in loaded for name in ("numpy", "yaml", "posenc_conformance.pytest_run"))


@pytest.mark.slow
def test_other_tests_and_yaml_files_are_left_alone(judge: Judge, pytester: pytest.Pytester) -> None:
    Path(pytester.path, "config.yaml").write_text("posenc: [unclosed", encoding="utf-8")
    Path(pytester.path, "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    judge(adapter(), "rope.yaml::smoke", ".").assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_check_without_a_claimed_call_does_not_pass(
    judge: Judge, pytester: pytest.Pytester
) -> None:
    only_8 = (
        '@claims("half", dtype="float32", base=10000.0, when=lambda positions: len(positions) == 6)'
    )
    judge(adapter(claim=only_8), "--posenc-report=r.json")
    report = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))
    sizes = "rope.yaml::behaviour::single-position[rope-half]"
    assert sizes in report["not_claimed"]
    assert sizes not in [check["id"] for check in report["checks"]]
    summary = report["summary"]
    assert summary["failed"] == summary["blocked"] == summary["not_selected"] == 0
    assert summary["checks"] == sum(summary.values()) - summary["checks"]


@pytest.mark.slow
def test_calls_left_out_for_their_memory_are_reported(judge: Judge) -> None:
    """Code that is wrong from 65,536 numbers on passes if such calls are left out."""
    wrong = "x = x if x.size < 2**16 else 2 * x\n        " + RIGHT.strip()
    assert judge(adapter(wrong)).ret == pytest.ExitCode.TESTS_FAILED
    result = judge(adapter(wrong), "--posenc-largest=1")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*--posenc-largest left out 0 checks, and calls of * checks more*", "* of rope half: *"]
    )
    judge(adapter()).stdout.no_fnmatch_line("*posenc-largest*")


@pytest.mark.slow
def test_precision_shows_how_the_error_grows(judge: Judge, pytester: pytest.Pytester) -> None:
    options = ("-m", "precision", "--posenc-precision", "--posenc-report=r.json")
    result = judge(adapter(), *options)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*precision*", "rope  rope half  float32", "*position*error*"])
    report = json.loads(Path(pytester.path, "r.json").read_text(encoding="utf-8"))
    (curve,) = [check["curve"] for check in report["checks"]]
    positions, errors, allowed = zip(*curve, strict=True)
    assert list(positions) == sorted(positions)
    assert 65535 < max(positions) <= 131071
    assert all(error <= bound for error, bound in zip(errors, allowed, strict=True))
    assert allowed[-1] > 1000 * allowed[1]
