"""The table of engines that ``posenc judge`` can start, and ``posenc engines``, which lists it."""

import argparse
import json
import re
import shlex
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from posenc_conformance.commands.judge.arguments import add_judge
from posenc_conformance.commands.judge.environment import environment
from posenc_conformance.commands.judge.table import FILE, SERVERS, read_table
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.files import import_file
from posenc_lab.deployed.server import handled
from scoreboard.deployed.engines import engines as judged_engines
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True, also=("docs/tutorials", "lab/scoreboard"))

WANTED = {
    "vllm",
    "sglang",
    "llama.cpp",
    "mlx-lm",
    "transformers",
    "ctranslate2",
    "openvino",
    "onnxruntime-genai",
    "mistral.rs",
    "tensorrt-llm",
    "lmdeploy",
}
"""Engines that can be started."""
OWN = """
posenc-engines: 1
engines:
  mine:
    title: My engine
    install: make install
    dtypes: [float16]
    serve: "{python} -m mine {folder} {port}"
    modules: [no_such_module]
    needs: patience
    repair: [make clean, make]
"""


def table_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "engines.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_kits_own_table() -> None:
    table = read_table([])
    assert {*table.engines} >= WANTED
    assert "ollama" in table.others
    for engine in table.engines.values():
        assert engine.install, engine.id
        assert engine.title, engine.id
        assert engine.tried or engine.needs, engine.id  # what nobody has tried says what it needs
        for line in (engine.convert, engine.serve):
            for word in shlex.split(line):
                if word.startswith("{servers}/"):
                    assert (SERVERS / word.partition("/")[2]).is_file(), word


def test_each_server_is_started_by_the_table_or_the_board() -> None:
    lines = FILE.read_text(encoding="utf-8")
    lines += "".join(engine.serve + engine.convert for engine in judged_engines())
    for path in SERVERS.glob("*.py"):
        assert path.stem == "completions" or path.name in lines, path.name


def test_releases_that_were_tried_are_those_of_the_board() -> None:
    installed = {pin for engine in judged_engines() for pin in engine.install}
    for engine in read_table([]).engines.values():
        if engine.tried:
            assert engine.tried.replace(" ", "==") in installed


def test_repairs_are_those_of_the_board() -> None:
    (board,) = (engine for engine in judged_engines() if engine.name == "vllm")
    lines = " ".join(read_table([]).engine("vllm-cpu").repair)
    for line in board.build:
        for word in line.replace("{packages}/", "").split():
            if "vllm" in word or word.startswith("torch"):
                assert word.strip("'") in lines


@pytest.mark.parametrize("name", ["vllm", "VLLM", "vLLM", "CTranslate2", "llama.cpp"])
def test_an_engine_is_found_by_id_or_title(name: str) -> None:
    assert read_table([]).engine(name).id in (name.lower(), "vllm")


def test_engines_of_the_user_are_added(tmp_path: Path) -> None:
    path = table_of(tmp_path, OWN)
    assert read_table([path]).engine("mine").serve == "{python} -m mine {folder} {port}"
    assert read_table([path]).engine("vllm")
    path = table_of(tmp_path, OWN.replace("mine:", "vllm:"))
    assert read_table([path]).engine("vllm").title == "My engine"
    path = table_of(tmp_path, OWN.replace("mine:", "ollama:"))
    assert read_table([path]).engine("ollama").title == "My engine"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("posenc-engines: 1", "posenc-engines: 2", "no table of engines"),
        ("posenc-engines: 1", "- 1", "engines.yaml"),
        ("  mine:\n", "  mine: [1]\n  yours:\n", "no mapping"),
        ("title:", "titel:", "did you mean title"),
        ("title: My engine", "title: 1", "no text"),
        ("dtypes: [float16]", "dtypes: float16", "no list of texts"),
        ("dtypes: [float16]", "dtypes: []", "dtypes is missing"),
        ("dtypes: [float16]", "dtypes: [float8]", "float8 is no dtype"),
        ("{folder} {port}", "{folder}", "no {port}"),
        ("{folder} {port}", "{folder} {port} {gpu}", "{gpu} is not known"),
        ("{folder} {port}", "{folder} {port.real}", "{port.real} is not known"),
        ("needs: patience", "gguf: maybe", "neither true nor false"),
        ("needs: patience", "variables: {A: 1}", "no texts"),
        ("needs: patience", "convert: copy {probe}", "no {out}"),
        ("needs: patience", "cache: int4", "int4 is no dtype"),
        ("needs: patience", "needs: patience\n    needs: luck", "given twice"),
    ],
)
def test_a_mistake_in_a_table_is_told(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in OWN
    with pytest.raises(UserError) as refused:
        read_table([table_of(tmp_path, OWN.replace(old, new))])
    assert words in str(refused.value)
    assert "engines.yaml" in str(refused.value)


def test_the_list_names_each_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "--engines", table_of(tmp_path, OWN)]) == 0
    output = capsys.readouterr().out
    raw = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for name in (*raw["engines"], *raw["others"], "mine"):
        assert f"\n{name} " in f"\n{output}"
    assert "My engine: not installed here: make install" in output


def test_the_details_name_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["engines", "mine", "--engines", table_of(tmp_path, OWN)]) == 0
    output = capsys.readouterr().out
    for words in ("the module no_such_module", "patience", "make clean", "not yet", "float16"):
        assert words in output
    assert main(["engines", "my-engine", "--engines", table_of(tmp_path, OWN)]) == 2


def test_an_environment_is_a_folder_or_its_interpreter(tmp_path: Path) -> None:
    for place in (sys.prefix, sys.executable):
        where = environment(place)
        assert where.absent_modules(["numpy", "no_such_module", "no.such"]) == {
            "no_such_module",
            "no.such",
        }
        assert where.program("pytest")
        assert where.program("no-such-program") is None
    with pytest.raises(UserError):
        environment(str(tmp_path))
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    path.chmod(0o755)
    with pytest.raises(UserError, match="does not run"):
        environment(str(path)).absent_modules(["numpy"])


def test_a_module_of_the_users_folder_is_not_mistaken_for_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "no_such_module").mkdir()
    monkeypatch.chdir(tmp_path)
    assert environment(None).absent_modules(["no_such_module"])


@pytest.mark.parametrize(
    ("prompt", "status"), [([1, 2], 200), ([[1, 2], [3]], 400), ("a b", 400), ([0], 500)]
)
def test_a_server_of_the_kit_takes_one_list_of_token_ids(prompt: object, status: int) -> None:
    server = import_file(SERVERS / "completions.py", "completions_of_the_kit")

    def complete(tokens: list[int], steps: int) -> list[dict[str, float]]:
        return [{"a": -1.0 / tokens[0]}] * steps

    handler = type("Served", (server.Handler,), {"complete": staticmethod(complete)})
    request = json.dumps({"prompt": prompt, "max_tokens": 2})
    with handled(handler) as url:
        connection = HTTPConnection(urlsplit(url).netloc)
        connection.request("POST", "/v1/completions", request)
        reply = connection.getresponse()
        content = json.loads(reply.read())
        connection.close()
    assert reply.status == status
    assert ("error" in content) == (status != 200)
    if status == 200:
        assert content["choices"][0]["logprobs"]["top_logprobs"] == [{"a": -1.0}] * 2


def test_the_table_of_the_tutorial_can_be_read(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs/tutorials/deployed.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    engine = read_table([table_of(tmp_path, text)]).engine("myserver")
    assert engine.dtypes[0] == "bfloat16"
    (command,) = re.findall(r"^\$ posenc judge '(.*)' ", page, re.MULTILINE)
    assert "{folder}" in command
    assert "{port}" in command


def test_the_options_of_the_tutorial_are_those_of_the_command() -> None:
    page = (CHECKOUT / "docs/tutorials/deployed.md").read_text(encoding="utf-8")
    part = page.partition("## One command")[2].partition("## The same by hand")[0]
    parser = argparse.ArgumentParser()
    add_judge(parser, run=lambda _: 0)
    taken = parser.format_help()
    for option in re.findall(r"`(--[\w-]+)", part):
        assert option in taken
