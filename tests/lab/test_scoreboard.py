"""The scoreboard shows stored reports, and refuses incomplete ones and those of another spec."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import library_pages
import pytest
import yaml
from blocks import scoreboard_blocks

from posenc_conformance import __version__
from posenc_conformance.door import LARGEST_DOCUMENT
from posenc_conformance.errors import UserError
from posenc_conformance.models.file import load_all
from posenc_lab.judging import schemes
from scoreboard import environments, judging, kept, table
from scoreboard.__main__ import main as command
from scoreboard.cells import ALL, Counts, cells, findings
from scoreboard.releases import of_release
from tests.building import CHECKOUT
from tests.reporting import summary_of
from tests.shares import without_use

BOARD = (".ci", ".github", "LICENSE", "Makefile", "action.yml", "docs", "lab/scoreboard")
"""Files and folders, besides the kit, that these tests read."""
pytestmark = pytest.mark.remembered(shipped=True, also=BOARD)

Change = Callable[[dict[str, Any]], object]


def check(id: str, verdict: str, **more: Any) -> dict[str, Any]:
    plain = {
        "level": "golden", "scheme": "rope", "call": "rope", "combination": "half",
        "dtype": "float32", "worst": 0.5, "exact_angles": None, "horizon": None,
        "horizon_is_claim": None, "curve": [], "left_out": "", "explanations": [], "message": "",
    }  # fmt: skip
    return {**plain, "id": id, "verdict": verdict, **more}


def report(*checks: dict[str, Any]) -> dict[str, Any]:
    verdicts = ("passed", "failed", "known", "blocked", "silent")
    counts: dict[str, Any] = dict.fromkeys(verdicts, 0)
    row = {
        "scheme": "rope", "call": "rope", "combination": "half", "dtype": "float32", **counts,
        "worst": 0.5, "exact_angles": None, "horizon": None, "horizon_is_claim": None,
    }  # fmt: skip
    return {
        "posenc-report": 1,
        "kit": __version__,
        "implementation": {"name": "torch", "versions": {"torch": "2.13.0"}},
        "schemes": ["rope"],
        "summary": summary_of(checks),
        "rows": [row],
        "diagnoses": [],
        "checks": list(checks),
        "not_claimed": [],
        "not_asked": {},
        "combinations_not_claimed": {},
    }


LIBRARY = next(candidate for candidate in table.libraries() if candidate.name == "torch")
ADAPTER = LIBRARY.adapters[0]


def content(*checks: dict[str, Any]) -> dict[str, Any]:
    return {
        kept.MARK: kept.FORMAT,
        "name": "torch",
        "library": "torch",
        "language": "Python",
        "install": list(LIBRARY.pinned),
        "measured": dict.fromkeys(kept.MEASURED, "") | {"kit": __version__},
        "inputs": kept.inputs(ADAPTER, ["rope"]),
        "report": report(*checks),
    }


def shown(*checks: dict[str, Any]) -> kept.Kept:
    return kept.Kept(LIBRARY, ADAPTER, content(*checks))


def test_a_stored_report_is_read_back(tmp_path: Path) -> None:
    kept.write(content(check("rope.yaml::golden::a[float32]", "passed")), tmp_path / "r.json.gz")
    assert kept.read_kept(tmp_path / "r.json.gz")["library"] == "torch"
    before = (tmp_path / "r.json.gz").read_bytes()
    kept.write(content(check("rope.yaml::golden::a[float32]", "passed")), tmp_path / "r.json.gz")
    assert (tmp_path / "r.json.gz").read_bytes() == before


def test_no_path_of_a_machine_is_stored(tmp_path: Path) -> None:
    broken = check("rope.yaml::golden::a[float32]", "failed")
    broken["message"] = (
        f'File "{CHECKOUT}/conformance/posenc_conformance/implementations/board/a.py", line 3\n'
        'File "/home/me/envs/a/lib/python3.11/site-packages/a/b.py", line 4'
    )
    kept.write(content(broken), tmp_path / "r.json.gz")
    text = json.dumps(kept.read_kept(tmp_path / "r.json.gz"))
    assert str(CHECKOUT) not in text
    assert "/home/me" not in text
    assert "conformance/posenc_conformance/implementations/board/a.py" in text
    assert "site-packages/a/b.py" in text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda it: it.update({kept.MARK: 2}), "no report of the board in format 1"),
        (lambda it: it.pop("measured"), "it has no measured"),
        (lambda it: it["measured"].pop("cpu"), "does not say its cpu"),
        (lambda it: it["report"].update({"posenc-report": 2}), "not a report of format 1"),
        (lambda it: it["report"].pop("checks"), "no whole report"),
        (lambda it: it["report"].update({"interrupted": "KeyboardInterrupt"}), "was not through"),
        (lambda it: it["inputs"]["schemes"].update({"rope": {}}), "another spec: rope.rope differ"),
        (lambda it: it["inputs"]["schemes"].clear(), "another spec: rope.rope differ"),
        (lambda it: it["report"]["rows"][0].update({"scheme": "none"}), "another spec: none.rope"),
    ],
)
def test_a_bad_report_is_refused_with_the_reason(
    tmp_path: Path, change: Change, reason: str
) -> None:
    bad = content()
    change(bad)
    if reason.endswith("none, rope"):
        bad["inputs"]["schemes"]["rope"] = "0"
    kept.write(bad, tmp_path / "r.json.gz")
    with pytest.raises(UserError, match=re.escape(reason)):
        kept.read_kept(tmp_path / "r.json.gz")


@pytest.mark.parametrize("part", [0, 1, 100, -1])
def test_a_truncated_report_is_refused(tmp_path: Path, part: int) -> None:
    kept.write(content(), tmp_path / "r.json.gz")
    whole = (tmp_path / "r.json.gz").read_bytes()
    (tmp_path / "r.json.gz").write_bytes(whole[:part])
    with pytest.raises(UserError, match="cannot be read"):
        kept.read_kept(tmp_path / "r.json.gz")


def test_invalid_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json.gz").write_bytes(gzip.compress(b"[" * 10**5))
    with pytest.raises(UserError, match="cannot be read"):
        kept.read_kept(tmp_path / "r.json.gz")


@pytest.mark.slow
def test_an_archive_bomb_and_a_pipe_are_refused(tmp_path: Path) -> None:
    bomb, pipe = tmp_path / "r.json.gz", tmp_path / "s.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (LARGEST_DOCUMENT + 1)))
    os.mkfifo(pipe)
    for path in (bomb, pipe):
        with pytest.raises(UserError, match="cannot be read"):
            kept.read_kept(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda it: None, ""),
        (lambda it: it.update(install=["torch==2.12.0"]), "what is installed has changed"),
        (lambda it: it["measured"].update(kit="0.0.1"), "judged by the kit's version 0.0.1"),
        (lambda it: it["inputs"].update(adapter="0"), "its adapter has changed"),
        (lambda it: it["inputs"].update({"known failures": "0"}), "its known failures has changed"),
    ],
)
def test_a_change_makes_a_report_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    monkeypatch.setattr(kept, "REPORTS", tmp_path)
    assert "there is no torch.json.gz" in kept.out_of_date(LIBRARY, ADAPTER)
    changed = content()
    change(changed)
    kept.write(changed, kept.place_of("torch"))
    message = kept.out_of_date(LIBRARY, ADAPTER)
    assert reason in message
    assert bool(message) == bool(reason)


@pytest.mark.slow
def test_only_a_changed_scheme_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "REPORTS", tmp_path)
    rope = check("rope.yaml::golden::a[float32]", "passed")
    alibi = check("alibi.yaml::golden::a[float32]", "passed", scheme="alibi")
    old = content(rope, alibi)
    old["inputs"]["schemes"] = {
        "rope": {**kept.digests_of_calls("rope"), "rope": "0"},
        "alibi": kept.digests_of_calls("alibi"),
    }
    kept.write(old, kept.place_of("torch"))
    (left,), missing = kept.all_kept([LIBRARY])
    assert [item["id"] for item in left.report["checks"]] == [alibi["id"]]
    assert (left.without, missing) == (
        ("rope.rope",),
        {"torch": "of another spec: rope.rope differ since"},
    )
    assert "of another spec" in kept.out_of_date(LIBRARY, ADAPTER)
    old["report"]["checks"] = [rope]
    kept.write(old, kept.place_of("torch"))
    assert kept.all_kept([LIBRARY])[0] == []


def release(version: str, *checks: dict[str, Any]) -> dict[str, Any]:
    made = content(*checks)
    made["report"]["implementation"]["versions"] = {"torch": version}
    return made


RUNTIMES = {"torch": "2.11.0", "triton": "3.6.0"}


@pytest.mark.parametrize(
    ("library", "named", "installed", "shown_as"),
    [
        ("torch", {"torch": "2.13.0"}, {}, "2.13.0"),
        ("torch-gpu", RUNTIMES, {}, "2.11.0"),
        ("transformers-compiled", RUNTIMES | {"transformers": "5.17.0"}, {}, "5.17.0"),
        ("flashinfer", {"flashinfer-python": "0.7.2", "torch": "2.11.0"}, {}, "0.7.2"),
        ("vllm-kernels", {"torch": "2.11.0"}, RUNTIMES | {"vllm": "0.33.0"}, "0.33.0"),
        ("torch-geometric", {"torch": "2.13.0", "torch_geometric": "2.8.1"}, {}, "2.8.1"),
        ("torchtune", {"torch": "2.13.0", "torchtune": "0.6.1"}, {}, "0.6.1"),
        ("onnxruntime-web", {"ONNX Runtime Web": "1.30.0"}, {}, "1.30.0"),
        ("example-triton", {}, RUNTIMES, __version__),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_library_is_shown_with_its_own_version(
    library: str, named: dict[str, str], installed: dict[str, str], shown_as: str
) -> None:
    made = content()
    made["report"]["implementation"]["versions"] = named
    made["measured"]["packages"] = installed
    assert kept.Kept(replace(LIBRARY, name=library), ADAPTER, made).version == shown_as


def test_every_row_shows_a_version_that_is_pinned_for_it() -> None:
    reports, _ = kept.all_kept(table.libraries())
    for report in reports:
        number = report.version.partition("+")[0].partition(" in ")[0]
        pinned = " ".join(report.library.pinned)
        if not report.library.name.startswith("example-"):
            assert re.search(rf"(==|@){re.escape(number)}", pinned), report.library.name
        if "torch" not in report.library.name:
            assert f"torch=={number}" not in pinned.split()


def test_the_report_of_another_release_is_kept_next_to_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "REPORTS", tmp_path)
    id = "rope.yaml::golden::a[float32]"
    present = kept.Kept(LIBRARY, ADAPTER, release("2.13.0", check(id, "failed")))
    kept.keep(release("2.12.0", check(id, "passed")))
    assert kept.earlier(present) is None
    kept.keep(present.content)
    kept.keep(present.content)  # judged again: no other release
    before = kept.earlier(present)
    assert before is not None
    assert (before.version, present.version) == ("2.12.0", "2.13.0")
    page = library_pages._changes(present, before)
    assert "2.12.0 to 2.13.0: 1 worse" in page
    assert f"{id}: passed, now failed" in page


def test_an_earlier_report_of_another_spec_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "REPORTS", tmp_path)
    other = release("2.12.0")
    other["inputs"]["schemes"]["rope"] = {}
    kept.write(other, kept.place_of("torch"))
    kept.keep(release("2.13.0"))
    assert kept.earlier(shown()) is None
    kept.write(other, kept.earlier_place_of("torch"))
    assert kept.earlier(shown()) is None


def test_an_earlier_release_is_pinned_by_its_name() -> None:
    assert of_release(LIBRARY, "torch==2.12.0").install == ("torch==2.12.0",)
    for wrong, reason in (("torch", "names no release"), ("timm==1.0.0", "does not install timm")):
        with pytest.raises(UserError, match=reason):
            of_release(LIBRARY, wrong)


def test_prose_of_a_scheme_is_no_part_of_its_digest(tmp_path: Path) -> None:
    raw = {"id": "a", "title": "A", "goldens": [{"expect": 1, "kills": "b"}]}

    def asked(**more: Any) -> Any:
        changed = {**raw, **more}
        return {
            name: kept._without_prose(part)
            for name, part in changed.items()
            if name not in kept.PROSE
        }

    assert asked(title="B") == asked(goldens=[{"expect": 1, "kills": "c"}]) == asked()
    assert asked(goldens=[{"expect": 2, "kills": "b"}]) != asked()


def test_a_change_to_another_call_does_not_change_a_call() -> None:
    calls = {
        "a": {"combinations": {"x": {"conventions": {"layout": "half"}}}},
        "b": {"combinations": {"y": {"conventions": {"packing": "blocks"}}}},
    }
    fields = {
        "family": "rotary",
        "conventions": {"layout": {"default": "half"}, "packing": {"default": "blocks"}},
        "goldens": [{"call": "a", "expect": 1}, {"call": "b", "expect": 2}],
    }

    def of(call: str, **more: Any) -> Any:
        return kept._of_call(call, calls[call], {**fields, **more})

    new = {"conventions": {"layout": {"default": "half"}, "packing": {"default": "by-group"}}}
    assert of("a", **new) == of("a")
    assert of("b", **new) != of("b")
    goldens = {"goldens": [*fields["goldens"], {"call": "b", "expect": 3}]}
    assert of("a", **goldens) == of("a")
    assert of("b", **goldens) != of("b")
    assert of("a", family="absolute") != of("a")


def test_cells_count_what_ran_and_nothing_else() -> None:
    counts = cells(
        shown(
            check("rope.yaml::golden::a[float32]", "passed"),
            check("rope.yaml::golden::a[bfloat16]", "failed", dtype="bfloat16"),
            check("rope.yaml::invariant::b[rope-half]", "known", dtype=None),
            check("rope.yaml::precision::c[float32]", "passed", horizon=2**17),
            check("alibi.yaml::smoke::d", "blocked", scheme="alibi"),
        ),
        [],
    )
    assert counts == {
        "rope": {
            ALL: Counts(2, 1, 1, 2**17),
            "float32": Counts(2, 0, 0, 2**17),
            "bfloat16": Counts(0, 1, 0, None),
        }
    }


def test_a_finding_explains_only_its_own_checks() -> None:
    first = findings()[0]
    mine = type(first)(
        **{**vars(first), "adapters": ("torch",), "checks": ("rope.yaml::*[float32]",)}
    )
    checks = [
        check("rope.yaml::golden::a[float32]", "failed"),
        check("rope.yaml::golden::a[float16]", "failed", dtype="float16"),
    ]
    assert cells(shown(*checks), [mine])["rope"][ALL] == Counts(0, 1, 1, None)
    other = type(first)(**{**vars(mine), "adapters": ("timm",)})
    assert cells(shown(*checks), [other])["rope"][ALL] == Counts(0, 2, 0, None)


@pytest.mark.slow
def test_every_finding_is_shown_by_a_report_and_can_be_run() -> None:
    reports = {entry.adapter.name: entry for entry in kept.all_kept(table.libraries())[0]}
    names = {adapter.name for library in table.libraries() for adapter in library.adapters}
    for finding in findings():
        compile(finding.reproduce, finding.title, "exec")
        assert set(finding.adapters) <= names, finding.title
        for name in set(finding.adapters) & set(reports):
            checks = reports[name].report["checks"]
            for pattern in finding.checks:
                scheme = pattern.partition(".yaml")[0]
                if any(entry.startswith(f"{scheme}.") for entry in reports[name].without):
                    continue
                alone = type(finding)(**{**vars(finding), "checks": (pattern,)})
                assert any(alone.shown_by(entry) for entry in checks), (name, pattern)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("install: [torch]", "'torch' is not pinned"),
        ("instal: [torch==1]", "instal is no field"),
        ("install: torch==1", "install is no list"),
        ("adapters: [nobody]", "there is no adapter nobody"),
    ],
)
def test_a_mistake_in_the_table_is_reported(tmp_path: Path, change: str, reason: str) -> None:
    plain = {"title": "T", "language": "Python", "adapters": ["torch"], **yaml.safe_load(change)}
    path = tmp_path / "libraries.yaml"
    path.write_text(yaml.safe_dump({"libraries": {"torch": plain}}), encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        table.libraries(path)


def test_a_program_is_built_from_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(library: table.Library, home: Path, pins: list[str]) -> None:
        packages = home / "lib" / "python3.14" / "site-packages"
        packages.mkdir(parents=True)
        (packages / "it.h").write_text(library.install[0], encoding="utf-8")

    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(environments, "_install", install)
    build = ("cp {root}/LICENSE one", "cp {packages}/it.h two")
    library = replace(LIBRARY, install=("it==1",), build=build)
    home = environments.environment(library)
    assert (home / "one").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()
    assert (home / "two").read_text(encoding="utf-8") == "it==1"
    with pytest.raises(UserError, match="torch cannot be built: cp nothing here"):
        environments.environment(replace(library, build=("cp nothing here",)))


def test_a_program_is_judged_again_when_one_that_it_may_include_changes() -> None:
    (contrib,) = (entry for entry in table.libraries() if entry.name == "onnxruntime-contrib-c")
    (adapter,) = contrib.adapters
    assert {"onnxruntime.c", "onnxruntime-contrib.c"} <= {entry.name for entry in adapter.files}


def test_a_missing_gpu_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["scoreboard", "--gpu"])
    assert command() == 2
    assert capsys.readouterr().err.count("there is no GPU here") == 1


@pytest.mark.slow
def test_adapters_that_need_a_gpu_are_judged_only_with_the_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {}
    for words in (["--check"], ["--check", "--gpu"]):
        monkeypatch.setattr(sys, "argv", ["scoreboard", *words])
        command()
        listed[len(words)] = {
            line.partition(":")[0] for line in capsys.readouterr().out.splitlines()
        }
    on_gpu = {adapter.name for row in table.libraries() if row.gpu for adapter in row.adapters}
    assert listed[2] == on_gpu
    assert not listed[1] & on_gpu


def test_a_name_that_is_not_on_the_board_is_refused() -> None:
    with pytest.raises(UserError, match="nobody is not on the board"):
        table.select(["nobody"], table.libraries())


def test_known_failures_of_the_project_are_those_of_the_board(tmp_path: Path) -> None:
    for library in table.libraries():
        for adapter in library.adapters:
            options = judging.arguments(library, adapter, tmp_path, tmp_path / "r.json")
            file = CHECKOUT / "tests" / "known" / f"{adapter.name}.yaml"
            assert (f"--posenc-known={file}" in options) == file.is_file()


@pytest.mark.slow
def test_the_strip_of_a_library_has_a_piece_for_each_measured_scheme() -> None:
    page = scoreboard_blocks.table()
    reports = kept.all_kept(table.libraries())[0]
    rows = dict(re.findall(r'<tr id="([^"]+)"(.*?)</tr>', page, re.S))
    measured: dict[str, set[str]] = {}
    for judged in reports:
        measured.setdefault(judged.library.name, set()).update(cells(judged, findings()))
    links = {name: set(re.findall(rf'href="{name}/#([^"]+)"', row)) for name, row in rows.items()}
    assert links == measured
    for data in re.findall(r"data-counts='(.*?)'", page):
        assert any(json.loads(data)[ALL][:3])


def test_counts_of_a_library_are_those_of_its_adapters_together() -> None:
    first = {"rope": {ALL: Counts(2, 0, 1, 2**17), "float32": Counts(2, 0, 1, 2**17)}}
    other = {"rope": {ALL: Counts(1, 1, 0, 2**9)}, "yarn": {ALL: Counts(3, 0, 0, None)}}
    assert scoreboard_blocks._added([first, other]) == {
        "rope": {ALL: Counts(3, 1, 1, 2**9), "float32": Counts(2, 0, 1, 2**17)},
        "yarn": {ALL: Counts(3, 0, 0, None)},
    }


@pytest.mark.parametrize(
    ("counts", "state", "words"),
    [
        (Counts(10, 0, 0, 2**17), "passed", "10 passed, to 2<sup>17</sup>"),
        (Counts(1, 0, 10, None), "known", "10 known, 1 passed"),
        (Counts(0, 2, 1, None), "failed", "2 failed, 1 known"),
    ],
)
def test_a_piece_has_the_colour_of_the_worst(counts: Counts, state: str, words: str) -> None:
    assert (scoreboard_blocks.state(counts), scoreboard_blocks.words(counts)) == (state, words)


@pytest.mark.slow
def test_the_page_of_a_library_has_its_schemes_findings_and_what_was_installed() -> None:
    pages = library_pages.pages()
    every = {entry.library.name: entry.library for entry in kept.all_kept(table.libraries())[0]}
    assert set(pages) == {f"scoreboard/{name}.md" for name in every}
    for name, library in every.items():
        page = pages[f"scoreboard/{name}.md"]
        for scheme in scoreboard_blocks.counted()[name]:
            assert f'<tr id="{scheme}"' in page, (name, scheme)
        told = set(re.findall(r'id="finding-([^"]+)"', page))
        rows = {adapter.name for adapter in library.adapters}
        assert told == {entry.id for entry in findings() if rows & set(entry.adapters)}
        assert all(pinned in page for pinned in library.pinned), name


@pytest.mark.slow
def test_every_finding_on_the_scoreboard_links_to_its_description() -> None:
    pages = library_pages.pages()
    links = re.findall(r'href="([^"/]+)/#(finding-[^"]+)"', scoreboard_blocks.listed())
    assert {anchor for _, anchor in links} == {f"finding-{finding.id}" for finding in findings()}
    for name, anchor in links:
        assert f'id="{anchor}"' in pages[f"scoreboard/{name}.md"]


def test_a_disputed_finding_says_so(tmp_path: Path) -> None:
    raw = yaml.safe_load((table.FOLDER / "findings.yaml").read_text(encoding="utf-8"))
    raw["findings"] = raw["findings"][:1]

    def kept(name: str) -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(raw), encoding="utf-8")
        return path

    (plain,) = findings(kept("plain"))
    raw["findings"][0]["disputed"] = "by its maintainers, in a thread"
    (disputed,) = findings(kept("disputed"))
    shown = [library_pages._finding(entry) for entry in (plain, disputed)]
    assert ["<dt>disputed</dt>" in entry for entry in shown] == [False, True]
    assert "in a thread" in shown[1]
    for wrong in ("", 3):
        raw["findings"][0]["disputed"] = wrong
        with pytest.raises(UserError, match="disputed"):
            findings(kept(f"wrong {wrong}"))


def test_the_weekly_job_judges_the_whole_table() -> None:
    path = CHECKOUT / ".github" / "workflows" / "scoreboard.yml"
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    done = subprocess.run(
        [sys.executable, "-m", "scoreboard.table"], capture_output=True, text=True
    )
    output, _, names = done.stdout.partition("=")
    assert json.loads(names) == [library.name for library in table.libraries() if not library.gpu]
    assert jobs["table"]["outputs"] == {output: f"${{{{ steps.table.outputs.{output} }}}}"}
    chosen = jobs["judge"]["strategy"]["matrix"]["library"]
    assert chosen == f"${{{{ fromJSON(needs.table.outputs.{output}) }}}}"
    assert not any("contents: write" in str(job) for job in jobs.values())


def action(folder: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
    """Run the step of action.yml in a project's folder."""
    variables = {f"POSENC_{name.upper()}": value for name, value in inputs.items()}
    return subprocess.run(
        ["bash", str(CHECKOUT / ".ci" / "action")],
        cwd=folder,
        env=os.environ | {"POSENC_PYTHON": sys.executable} | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_action_judges_and_leaves_report_and_badges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mylib.py", "mylib_adapter.py", "mylib_adapter_half.py"):
        shutil.copy(CHECKOUT / "docs" / "examples" / name, tmp_path)
    badge = tmp_path / "posenc-report" / "badges" / "rope.json"
    for name, code, words in (
        ("mylib_adapter_half.py", 0, "rope half: conforms"),
        ("mylib_adapter.py", 1, "fail"),
    ):
        summary = tmp_path / f"{name}.md"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        done = action(tmp_path, impl=name, arguments="-q\n--tb=no")
        assert done.returncode == code, done.stdout + done.stderr
        assert words in done.stdout
        written = json.loads(badge.read_text(encoding="utf-8"))
        assert words in f"{written['label']}: {written['message']}"
        assert "scheme  conventions" in summary.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_action_reports_no_old_result_as_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One adapter cannot be loaded, another exits with 0 during the run."""
    folder = tmp_path / "posenc-report"
    (folder / "badges").mkdir(parents=True)
    old = '{"posenc-report": 1, "schemes": ["rope"]}'
    leaves = "import ctypes\nctypes.CDLL(None)._exit(0)\n"
    for source, code in (("import not_there\n", 4), (leaves, 1)):
        (folder / "posenc.json").write_text(old, encoding="utf-8")
        (folder / "badges" / "rope.json").write_text('{"schemaVersion": 1}', encoding="utf-8")
        (folder / "badges" / "rope.svg").write_text("<svg/>", encoding="utf-8")
        (folder / "badges" / "mine.svg").write_text("<svg/>", encoding="utf-8")
        (tmp_path / "broken.py").write_text(source, encoding="utf-8")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        done = action(tmp_path, impl="broken.py", arguments="rope.yaml")
        assert done.returncode == code, done.stdout + done.stderr
        assert [file.name for file in folder.rglob("*") if file.is_file()] == ["mine.svg"]
        assert not (tmp_path / "summary.md").exists()


def test_the_action_without_an_implementation_fails(tmp_path: Path) -> None:
    done = action(tmp_path)
    assert done.returncode
    assert "says what to judge" in done.stderr


def test_the_action_passes_its_inputs_on() -> None:
    raw = yaml.safe_load((CHECKOUT / "action.yml").read_text(encoding="utf-8"))
    script = (CHECKOUT / ".ci" / "action").read_text(encoding="utf-8")
    (step,) = [candidate for candidate in raw["runs"]["steps"] if "run" in candidate]
    assert "${{" not in step["run"]
    assert list(step["env"].values()) == [
        f"${{{{ inputs.{name} }}}}" for name in ("impl", "known", "arguments", "folder", "python")
    ]
    inputs = {name.removeprefix("POSENC_").lower() for name in step["env"]}
    assert set(raw["inputs"]) == {*inputs, "artifact"}
    for name in step["env"]:
        assert name in script


SERVING = {"rope_cache", "serving_ids", "vision_order"}
"""Schemes of serving engines, which no library offers by themselves."""


@pytest.mark.always
def test_schemes_without_a_known_use_are_those_that_say_so() -> None:
    boards, _ = kept.all_kept(table.libraries())
    judged = {row["scheme"] for entry in boards for row in entry.content["report"]["rows"]}
    modelled = {group.scheme for model in load_all() for group in model.meaning.groups}
    used = {id.replace("-", "_") for id in judged | modelled}
    unused = {entry.module_name for entry in schemes()} - used
    assert without_use() == unused - SERVING
