"""The board of deployed engines stores the results of probes, and shows what it stored."""

import html
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import engine_pages
import library_pages
import pytest
from blocks import engine_blocks, site_blocks

from posenc_conformance.commands.probe import SPELLINGS
from posenc_conformance.errors import UserError
from posenc_lab.deployed.judging import folder_of
from scoreboard.deployed import judging, kept
from scoreboard.deployed.__main__ import main
from scoreboard.deployed.engines import FILE, Engine, engines, select, unjudged
from scoreboard.deployed.findings import findings, unexplained
from scoreboard.deployed.judging import Bench, context_of, models, own_words
from scoreboard.deployed.kept import PASSED, REFUSED, UNJUDGED, WRONG, Cell, Mistake, Results

BOARD = (".ci", "docs", "lab/scoreboard")
"""Folders, besides the kit, that these tests read."""
pytestmark = pytest.mark.remembered(shipped=True, also=BOARD)

Change = Callable[[dict[str, Any]], object]
SERVER = """
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from posenc_lab.deployed import right, wrong
from posenc_lab.deployed.engine import read_checkpoint
from posenc_lab.deployed.server import Handler

kind, probe, port = sys.argv[1:]
kinds = {**vars(wrong), **vars(right)}
Handler.engine = kinds[kind](*read_checkpoint(Path(probe)))
ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""
CONVERTER = """
import json
import shutil
import sys
from pathlib import Path

probe, out, forgets = sys.argv[1:]
shutil.copytree(probe, out)
path = Path(out, "config.json")
config = json.loads(path.read_text())
config.pop(forgets, None)
block = {**config.pop("rope_scaling", {}), **config.pop("rope_parameters", {})}
base = config.pop("rope_theta", block.get("rope_theta"))
config["rope_parameters"] = {"rope_type": "default", **block, "rope_theta": base}
config["dtype"] = config.pop("torch_dtype", config.get("dtype"))
path.write_text(json.dumps(config, sort_keys=True))
"""
"""Converter that writes one spelling, whatever it reads."""
LAYERS = """
import numpy as np
from posenc_conformance import claims

class Layers:
    @claims(dtype=["float32"])
    def rotary(self, x, positions, *, config, layer):
        if config["model_type"] != "llama":
            raise NotImplementedError("it knows Llama alone")
        half = x.shape[-1] // 2
        omega = config.get("rope_theta", 10000.0) ** (-np.arange(half) / half)
        angles = np.multiply.outer(positions, omega)
        cos, sin, first, second = np.cos(angles), np.sin(angles), x[..., :half], x[..., half:]
        turned = first * cos - second * sin, second * cos + first * sin
        return np.concatenate(turned, -1).astype(x.dtype)
"""
"""Adapter whose rotation depends on the base only."""
NAMED = Mistake("scaling-ignored", "scaling not applied", 3)
CELL = Cell(
    model="llama-2-7b",
    spelling="released",
    verdict=WRONG,
    date="2026-11-26T05:00:00+00:00",
    kit="0.1.0",
    commit="0000000",
    context=512,
    failed=("distance-7",),
    mistakes=(NAMED,),
)
RESULTS = Results("fake", ("fake==1",), {"fake": "1"}, "Linux", "a processor").with_cell(CELL)


ADDRESS = "http://127.0.0.1:{port}/v1"
FAKE = Engine("fake", "Fake", (), ("fake",), "float32", ADDRESS, probe="float32")
"""An engine that is installed here."""


def fake(*, convert: str = "", serve: str = "") -> Bench:
    return Bench(replace(FAKE, convert=convert, serve=serve), Path(sys.prefix))


def judged(bench: Bench, spelling: str = "released") -> Cell:
    return bench.judge(str(folder_of("llama") / "config.json"), spelling, 512)


@pytest.fixture
def server(tmp_path: Path) -> str:
    path = tmp_path / "server.py"
    path.write_text(SERVER, encoding="utf-8")
    return f"{sys.executable} {path}"


# The runner, with a small engine.


def test_an_engine_may_take_only_a_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "refuses.py"
    code = "import sys; print(open(sys.argv[1], 'rb').read(4)); raise ValueError('heard')"
    path.write_text(code, encoding="utf-8")
    engine = replace(FAKE, serve=f"{sys.executable} {path} {{probe}}", gguf=True)
    assert engine.spellings == ("released",)
    cell = judged(Bench(engine, Path(sys.prefix)))
    assert (cell.verdict, cell.says) == (REFUSED, "ValueError: heard")
    cell = Bench(engine, Path(sys.prefix)).judge("gpt2", "released", 512)
    assert cell.verdict == UNJUDGED  # the model has no GGUF form


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_right_engine_passes_after_a_converter(server: str, spelling: str) -> None:
    bench = fake(convert="cp -r {probe} {out}", serve=f"{server} Plain {{out}} {{port}}")
    cell = judged(bench, spelling)
    assert (cell.verdict, cell.failed, cell.reach) == (PASSED, (), 507), cell.says
    assert {"distance-7", "layers", "two-at-once"} <= {*cell.passed}


@pytest.mark.slow
def test_a_wrong_engine_is_named(server: str) -> None:
    cell = judged(fake(serve=f"{server} NoScaling {{probe}} {{port}}"))
    assert cell.verdict == WRONG
    assert [mistake.id for mistake in cell.mistakes] == ["scaling-ignored"]
    assert sum(mistake.failures for mistake in cell.mistakes) == len(cell.failed)


@pytest.mark.slow
def test_identical_conversions_are_judged_once(server: str, tmp_path: Path) -> None:
    path = tmp_path / "converts.py"
    path.write_text(CONVERTER, encoding="utf-8")
    # One converter ignores the spelling, the other drops the scaling in one spelling only.
    for forgets, verdicts in (("nothing", [PASSED, PASSED]), ("rope_scaling", [WRONG, PASSED])):
        served = tmp_path / f"{forgets}.log"
        counted = f"sh -c 'echo >>{served}; exec {server} Plain {{out}} {{port}}'"
        bench = fake(convert=f"{sys.executable} {path} {{probe}} {{out}} {forgets}", serve=counted)
        cells = [judged(bench, spelling) for spelling in SPELLINGS]
        assert [cell.verdict for cell in cells] == verdicts
        assert [cell.spelling for cell in cells] == [*SPELLINGS]
        assert len(served.read_text()) == len(set(verdicts))


@pytest.mark.slow
def test_layers_are_judged_on_all_models_in_one_run(tmp_path: Path) -> None:
    path = tmp_path / "layers.py"
    path.write_text(LAYERS, encoding="utf-8")
    engine = replace(FAKE, impl=str(path), layers=True)
    assert engine.spellings == ("released",)
    names = ["llama-2-7b", "llama-3.2-1b", "qwen2-0.5b"]
    cells = {item.model: item for item in Bench(engine, Path(sys.prefix)).judge_layers(names)}
    assert cells["llama-2-7b"].verdict == PASSED
    assert cells["llama-3.2-1b"].verdict == WRONG
    assert [item.id for item in cells["llama-3.2-1b"].mistakes] == ["scaling-ignored"]
    assert cells["qwen2-0.5b"].verdict == UNJUDGED
    assert cells["qwen2-0.5b"].says
    path.write_text("1 / 0", encoding="utf-8")
    with pytest.raises(UserError, match="layers"):
        [*Bench(engine, Path(sys.prefix)).judge_layers(names)]


@pytest.mark.parametrize("step", ["convert", "serve"])
def test_an_engines_refusal_is_recorded(step: str, tmp_path: Path) -> None:
    path = tmp_path / "refuses.py"
    path.write_text("raise ValueError('llama is not known')", encoding="utf-8")
    cell = judged(fake(**{step: f"{sys.executable} {path}"}))
    assert (cell.verdict, cell.says) == (REFUSED, "ValueError: llama is not known")


def test_a_refusal_of_the_probe_is_no_refusal_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "refuses.py"
    path.write_text("raise ValueError('this tokenizer is new to me')", encoding="utf-8")
    engine = replace(
        FAKE, convert=f"{sys.executable} {path}", of_probe=("vocabulary", "tokenizer is new")
    )
    cell = judged(Bench(engine, Path(sys.prefix)))
    assert (cell.verdict, cell.says) == (UNJUDGED, "ValueError: this tokenizer is new to me")


@pytest.mark.parametrize(
    ("said", "verdict"), [("ValueError: a wrong shape", REFUSED), ("wait", UNJUDGED)]
)
def test_a_server_that_stays_up_without_its_model_is_recorded(
    said: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lives.py"
    path.write_text(f"import time; print({said!r}, flush=True); time.sleep(60)", encoding="utf-8")
    monkeypatch.setattr(judging, "STARTING", 2)
    cell = judged(fake(serve=f"{sys.executable} {path}"))
    assert cell.verdict == verdict
    assert (cell.says == said) == (verdict == REFUSED)


@pytest.mark.slow
def test_a_server_without_the_probe_is_not_judged() -> None:
    cell = judged(fake(serve=f"{sys.executable} -m http.server --bind 127.0.0.1 {{port}}"))
    assert cell.verdict == UNJUDGED
    assert "404 to /models" in cell.says
    assert str(folder_of("llama")) not in cell.says


def test_a_run_that_takes_too_long_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    begins = 'for word; do case $word in --posenc-report=*) echo {} >"${word#*=}";; esac; done'
    python.write_text(f"#!/bin/sh\n{begins}\nexec sleep 60\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(judging, "JUDGING", 1)
    cell = judged(Bench(replace(FAKE, inside=True), tmp_path))
    assert (cell.verdict, cell.says) == (UNJUDGED, "the kit was not through after 1 s")


def test_an_engines_own_words_are_its_last_error() -> None:
    log = "KeyError: 'rope_type'\n\nThe above was the cause\nRuntimeError: cannot load\nbye\n"
    assert own_words(log) == "RuntimeError: cannot load"
    assert own_words("(worker) KeyError: 'a'\nException occurred\n") == "(worker) KeyError: 'a'"
    log = "0.1 E load: error loading model: no tensor\nE srv: exiting due to model loading error\n"
    assert own_words(log) == "error loading model: no tensor"
    assert own_words("all is well\n") == ""
    request = '127.0.0.1 - - "GET /health HTTP/1.1" 503 -\n'
    assert own_words(f"TypeError: no n_ctx\n{request * 200}") == "TypeError: no n_ctx"


def test_the_context_extends_beyond_a_window() -> None:
    assert context_of("llama-2-7b", 512) == 512
    assert context_of("phi-3-mini-4k", 512) > 2047
    assert context_of("phi-3.5-mini", 512) == 512  # a window that no text of the kit reaches


def test_cells_that_are_up_to_date_are_not_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kept, "RESULTS", tmp_path)
    arguments = ["scoreboard", "ctranslate2", "--check", "--models", "llama-2-7b"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert main() == 1
    (engine,) = select(["ctranslate2"], engines())
    results = Results(engine.name, engine.pinned, {}, "", "")
    for spelling in SPELLINGS:
        results = results.with_cell(replace(CELL, spelling=spelling))
    kept.write(results, kept.place_of(engine.name))
    assert main() == 0
    kept.write(replace(results, install=("other==1",)), kept.place_of(engine.name))
    assert main() == 1
    assert "2 due" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["scoreboard", "nobody"])
    assert main() == 2


@pytest.mark.slow
def test_models_are_those_with_probes() -> None:
    assert {"llama-3.1-8b", "qwen3-0.6b"} <= {*models([])}
    assert "bert-base" not in models([])
    with pytest.raises(UserError):
        models(["nobody"])


# Stored results.


def test_stored_results_are_read_back(tmp_path: Path) -> None:
    kept.write(RESULTS, tmp_path / "fake.json")
    assert kept.read(tmp_path / "fake.json") == RESULTS
    before = (tmp_path / "fake.json").read_bytes()
    rows = [line for line in before.splitlines() if b'"spelling"' in line]
    assert len(rows) == len(RESULTS.cells)  # one cell a line
    kept.write(kept.read(tmp_path / "fake.json"), tmp_path / "fake.json")
    assert (tmp_path / "fake.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda it: it.update({kept.MARK: 2}), "not of format 1"),
        (lambda it: it.pop("install"), "cannot be read"),
        (lambda it: it["cells"][0].update(verdict="fine"), "cannot be read"),
        (lambda it: it["cells"][0].update(more=1), "cannot be read"),
        (lambda it: it["cells"][0].pop("date"), "cannot be read"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, change: Change, reason: str) -> None:
    path = tmp_path / "fake.json"
    kept.write(RESULTS, path)
    raw = json.loads(path.read_text(encoding="utf-8"))
    change(raw)
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        kept.read(path)


@pytest.mark.parametrize("path", sorted(kept.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_stored_results_match_the_table_and_contain_no_paths(path: Path) -> None:
    results = kept.read(path)
    (engine,) = select([results.engine], engines())
    assert path.stem == engine.name
    assert results.install == engine.pinned
    assert set(engine.shows) <= set(results.packages)
    assert not re.search(r"/(?:tmp|home|root|work|opt)\b", path.read_text(encoding="utf-8"))
    model_ids = set(models([]))
    for cell in results.cells.values():
        assert cell.model in model_ids
        assert (cell.verdict == WRONG) == bool(cell.failed) == bool(cell.mistakes)
        assert (cell.verdict in (REFUSED, UNJUDGED)) <= bool(cell.says or cell.others)


# The page.


@pytest.mark.slow
def test_the_table_shows_every_stored_cell() -> None:
    page = engine_blocks.board_table()
    cells_of = engine_blocks.board()
    shown_models = {model for _, results in cells_of.values() for model, _ in results.cells}
    assert page.count(" data-model=") == len(shown_models)
    rows = dict(re.findall(r'<tr id="([^"]+)" data-model=[^>]*><th[^>]*>.*?</th>(.*)</tr>', page))
    for n, (_, results) in enumerate(cells_of.values()):
        for model in shown_models:
            cell = rows[model].split("</td>")[n]
            mine = [results.cells[key] for key in results.cells if key[0] == model]
            assert bool(mine) == (cell != "<td>")
            for result in mine:
                shown = [name.id for name in result.mistakes if name.id != kept.UNNAMED]
                shown += [result.verdict] if result.says else []
                assert all(word in cell for word in shown)
                assert result.verdict != PASSED or "passes" in cell


def test_engines_that_cannot_be_judged_are_shown(tmp_path: Path) -> None:
    page = engine_blocks.not_judged()
    assert unjudged()
    titles = {engine.title for engine in engines()}
    for title in unjudged():
        assert title in page
        assert title not in titles
    path = tmp_path / "engines.yaml"
    path.write_text("unjudged: {SGLang: ''}\n", encoding="utf-8")
    with pytest.raises(UserError, match="SGLang"):
        unjudged(path)


@pytest.mark.slow
def test_each_engine_has_a_page_with_everything_that_was_kept() -> None:
    """Words where there is no verdict, mistakes without a finding, and each finding in full."""
    pages = engine_pages.pages()
    board = engine_blocks.board()
    assert set(pages) == {f"engines/{name}.md" for name in board}
    for name, (_, results) in board.items():
        page = pages[f"engines/{name}.md"]
        for (model, _), cell in results.cells.items():
            assert f'<tr id="{model}">' in page
            assert cell.verdict == PASSED or cell.verdict in page or cell.mistakes
            assert not cell.says or html.escape(cell.says, quote=False) in page
            for mistake in unexplained(name, cell, findings()):
                assert html.escape(mistake.words) in page
        for finding in findings():
            assert (f'id="finding-{finding.id}"' in page) == (name == finding.engines[0])
            assert (f"#finding-{finding.id}" in page) == (name in finding.engines)
        for other, place in re.findall(r'href="\.\./([^"/]+)/#(finding-[^"]+)"', page):
            assert f'id="{place}"' in pages[f"engines/{other}.md"], (name, place)


@pytest.mark.slow
def test_the_page_of_an_engine_and_of_its_library_lead_to_each_other() -> None:
    libraries = library_pages.pages()
    engines_of = {name: engine for name, (engine, _) in engine_blocks.board().items()}
    assert any(engine.functions for engine in engines_of.values())
    for name, engine in engines_of.items():
        page = engine_pages.pages()[f"engines/{name}.md"]
        leads = f'href="../../scoreboard/{engine.functions}/"'
        assert (leads in page) == bool(engine.functions)
        if engine.functions:
            assert f'href="../../engines/{name}/"' in libraries[f"scoreboard/{engine.functions}.md"]


@pytest.mark.parametrize("address", ["", "https://example.org/posenc/"])
def test_a_finding_has_a_door_for_who_disputes_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_blocks, "repository", lambda: address)
    door = site_blocks.dispute("mlx-lm-window", "../../")
    known = "https://example.org/posenc/issues/new?title=Dispute+of+mlx-lm-window"
    assert (known if address else "../../maintainers/#dispute-it") in door
    assert ("git remote get-url" in site_blocks.issues()) == (not address)


def test_every_finding_is_shown_by_a_cell_and_can_be_run() -> None:
    results_of = {name: results for name, (_, results) in engine_blocks.board().items()}
    for finding in findings():
        compile(finding.reproduce, finding.id, "exec")
        assert set(finding.engines) <= set(results_of), finding.id
        for pattern in finding.cells:
            alone = replace(finding, cells=(pattern,))
            shown = [
                {mistake.id for mistake in cell.mistakes}
                for name, results in results_of.items()
                for cell in results.cells.values()
                if alone.shown_by(name, cell)
            ]
            assert shown, (finding.id, pattern)
            assert not finding.mistakes or any(group & {*finding.mistakes} for group in shown), (
                finding.id
            )


def test_a_finding_explains_only_its_own_mistake() -> None:
    plain = findings()[0]
    finding = replace(plain, engines=("fake",), cells=("llama-2-7b/*",), mistakes=(NAMED.id,))
    assert unexplained("fake", CELL, [finding]) == []
    assert unexplained("other", CELL, [finding]) == [NAMED]
    other = replace(finding, mistakes=("base-ignored",))
    assert unexplained("fake", CELL, [other]) == [NAMED]
    elsewhere = replace(finding, cells=("*/transformers-5",))
    assert unexplained("fake", CELL, [elsewhere]) == [NAMED]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("title: transformers", "titel: transformers", "title is missing"),
        ("inside: true", "inner: true", "inner is no field"),
        ("shows: [transformers, torch]", "shows: torch", "shows is no list"),
        ("torch==2.13.0", "torch", "'torch' is not pinned"),
    ],
)
def test_a_mistake_in_the_table_is_reported(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    path = tmp_path / "engines.yaml"
    path.write_text(FILE.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        engines(path)
