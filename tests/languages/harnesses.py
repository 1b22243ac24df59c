"""Harnesses for other languages: each transports all values, and its adapter is judged."""

import base64
import json
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance.commands.init.languages import start
from posenc_conformance.remote import wire
from posenc_conformance.remote.load import How, load
from posenc_lab.judging import Verdict, diagnoses, failed, judge, schemes
from tests.building import CHECKOUT

ECHOES = CHECKOUT / "tests" / "programs" / "echo"
LONGEST = 30
"""The most lines of an adapter, without those that name the harness."""


@dataclass(frozen=True)
class Harness:
    """A harness for a language, and the commands that build and run a program with it.

    In the commands, {} is the program's name without its ending.
    """

    path: str
    ending: str
    run: str
    build: str = ""
    kind: str = "ValueError"
    """Type of the error with which the echo answers."""

    def built(self, source: Path, folder: Path, wrong: tuple[str, str] | None = None) -> str:
        """Build a program with a part of it replaced; return the command that runs it."""
        text = source.read_text(encoding="utf-8")
        if wrong is not None:
            assert text.count(wrong[0]) == 1, wrong
            text = text.replace(*wrong)
        (folder / source.name).write_text(text, encoding="utf-8")
        shutil.copy(CHECKOUT / "harness" / self.path, folder)
        if self.build:
            command = shlex.split(self.build.format(source.stem))
            subprocess.run(command, cwd=folder, check=True)
        return self.run.format(folder / source.stem)

    def adapter(self) -> Path:
        return (CHECKOUT / "harness" / self.path).with_name(f"adapter.{self.ending}")

    def echo(self) -> Path:
        return ECHOES / f"echo.{self.ending}"


def judged(command: str, levels: tuple[str, ...]) -> list[Verdict]:
    loaded = load(command, How(), schemes())
    try:
        return judge(loaded.adapter, levels)
    finally:
        loaded.end()


def assert_right(harness: Harness, folder: Path) -> None:
    """Check that the tutorial's adapter is short, and right in all checks."""
    lines = harness.adapter().read_text(encoding="utf-8").splitlines()
    name = Path(harness.path).stem
    assert len([item for item in lines if item and name not in item]) <= LONGEST
    verdicts = judged(
        harness.built(harness.adapter(), folder),
        ("smoke", "golden", "invariant", "behaviour", "robust"),
    )
    assert not failed(verdicts), failed(verdicts)[0].text
    assert {item.check.subject.call.name for item in verdicts} == {"sinusoidal", "rope"}
    assert {item.check.dtype for item in verdicts} >= {"float64", "float32", "bfloat16", "float16"}


def assert_starts(language: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build and judge what posenc init writes, by the commands that it prints."""
    monkeypatch.chdir(folder)
    advice = dict(line.split(": ", 1) for line in start("kernels", language) if ": " in line)
    if "build it with" in advice:
        command = shlex.split(advice["build it with"].replace("<your library>", ""))
        subprocess.run(command, check=True)
    (chosen,) = shlex.split(advice["judge it with"].partition("--impl=")[2])
    verdicts = judged(chosen, ("smoke", "golden"))
    assert {str(verdict.verdict) for verdict in verdicts} == {"passed"}


MISTAKES = {
    "positions-shifted": ("= positions[", "= omega + positions["),
    "sign-flipped": ("= positions[", "= -positions["),
}


def assert_wrong(harness: Harness, folder: Path, mistake: str) -> None:
    """Check that a mistake is named."""
    wrong = MISTAKES[mistake]
    verdicts = judged(harness.built(harness.adapter(), folder, wrong), ("golden", "invariant"))
    assert failed(verdicts)
    assert diagnoses(failed(verdicts))[0] == mistake


class Conversation:
    """A conversation with an echo program."""

    def __init__(self, command: str) -> None:
        self.lines: list[bytes] = []
        self.command = command

    def add(self, **request: Any) -> None:
        self.lines.append(wire.Lines().encode({"id": len(self.lines) + 1, **request}))

    def call(self, name: str, **arguments: Any) -> None:
        self.add(request="call", call=name, arguments=arguments)

    def answers(self) -> tuple[list[Any], str]:
        """Return an answer for each request, and the program's stderr."""
        done = subprocess.run(
            shlex.split(self.command), input=b"".join(self.lines), capture_output=True, check=True
        )
        answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
        assert [answer["id"] for answer in answers] == list(range(1, len(self.lines) + 1))
        return answers, done.stderr.decode()


def everything() -> list[tuple[wire.Array, str]]:
    """Return arrays, each with the dtype in which the echo must return it."""
    halves = np.arange(2**16, dtype=np.uint16)
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 4000, np.uint64)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 2.0**-1022, 65519.99])
    doubles = np.concatenate([special, bits.view(np.float64), rng.normal(size=4000)])
    near = np.concatenate([rng.normal(size=4000), rng.normal(size=4000) * 2.0**-16])
    ties = halves.view(np.float16).astype(np.float64)
    ties = ties[np.isfinite(ties)]
    ties = (ties[1:] + ties[:-1]) / 2
    arrays = [
        (halves.view(np.float16), "float16"),
        (halves.view(ml_dtypes.bfloat16), "bfloat16"),
        (bits.view(np.float32), "float32"),
        (doubles, "float64"),
        (doubles, "float32"),
        (np.concatenate([doubles, near, ties]), "float16"),
        (np.concatenate([near, special]).astype(np.float32), "bfloat16"),
        (np.array([True, False]), "bool"),
        (np.zeros((2, 0, 3)), "float32"),
        (np.array(2.5), "float64"),
        (near[:24].reshape(2, 3, 4), "float64"),
    ]
    for name in wire.INTEGERS:
        limits = np.iinfo(name)
        values = [max(limits.min, -(2**53)), max(limits.min, -1), 0, 1, min(limits.max, 2**53)]
        arrays.append((np.array(values, name), name))
    return arrays


def assert_carries(harness: Harness, folder: Path) -> None:
    """Check that values arrive as sent, and that printed text stays out of the protocol."""
    talk = Conversation(harness.built(harness.echo(), folder))
    talk.add(request="describe", protocol=1)
    with np.errstate(all="ignore"):
        arrays = everything()
    for array, dtype in arrays:
        talk.call("echo", x=array, dtype=dtype)
    talk.add(request="goodbye")
    answers, printed = talk.answers()
    assert answers[0]["result"]["name"] == 'echo "1"'
    assert answers[0]["result"]["claims"] == [{"call": "echo"}]
    assert answers[-1]["result"] is None
    for (array, dtype), answer in zip(arrays, answers[1:-1], strict=True):
        assert "result" in answer, (dtype, answer)
        back = wire.value(answer["result"])
        with np.errstate(all="ignore"):
            expected = array.astype(wire.WIRE_DTYPES[dtype])
            assert (back.dtype, back.shape) == (expected.dtype, expected.shape)
            nan = np.isnan(expected.astype(np.float64))
            assert np.array_equal(np.isnan(back.astype(np.float64)), nan), dtype
        assert back[~nan].tobytes() == expected[~nan].tobytes(), dtype
    assert printed.count("hello") == printed.count("world") == len(arrays)


def assert_answers_errors(harness: Harness, folder: Path) -> None:
    """Check that a failed call is answered by an error, and that the next call is unaffected."""
    talk = Conversation(harness.built(harness.echo(), folder))
    talk.add(request="describe", protocol=2)
    talk.call("refuse", message='3 "channels"\\\n\t\x01 are not pairs')
    talk.call("refuse", message="grün 😀 is no dtype")
    for name in ("decline", "unknown", "misfit", "echo"):
        talk.call(name)
    talk.call("echo", x=np.array([0.5]), dtype="int64")
    talk.call("echo", x=np.array([2**53 + 2]), dtype="float64")
    talk.call("echo", x=np.array([0.5]), dtype="float8")
    talk.call("numbers", a=-1.25e-05, b=9007199254740992)
    talk.call("floats", x=np.array([[1 / 3, 1e300]]))
    answers, _ = talk.answers()
    errors = [answer.get("error", {}) for answer in answers]
    assert "protocol 1" in errors[0]["message"]
    assert errors[1]["type"] == harness.kind
    assert '3 "channels"\\' in errors[1]["message"]
    assert "are not pairs" in errors[1]["message"]
    assert errors[2]["message"].endswith(" is no dtype")
    assert [answer["type"] for answer in errors[3:5]] == ["NotImplementedError"] * 2
    assert errors[3]["message"] == "not here"
    assert "shape" in errors[5]["message"]
    assert errors[6]["message"] == "nothing is given as x"
    assert "whole number" in errors[7]["message"]
    assert "2^53" in errors[8]["message"]
    assert "float8" in errors[9]["message"]
    assert all(answer["type"] for answer in errors[:10])
    numbers, floats = (answer["result"] for answer in answers[10:])
    assert wire.value(numbers).tolist() == [-1.25e-05, 9007199254740992.0]
    with np.errstate(over="ignore"):
        expected = np.array([[1 / 3, 1e300]]).astype(np.float32)
    assert base64.b64decode(floats["data"]) == expected.tobytes()
    assert floats["shape"] == [1, 2]
