"""A right adapter that executes the file mischief.py next to it once, if there is one.

The call then returns ``result``, if the file sets it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance import claims

MISCHIEF = Path(__file__).with_name("mischief.py")


class Culprit:
    @claims(dtype="float64")
    def alibi_slopes(self, heads: int) -> Any:
        scope: dict[str, Any] = {"right": 2.0 ** (-8 * np.arange(1, heads + 1) / heads)}
        if MISCHIEF.exists():
            text = MISCHIEF.read_text()
            MISCHIEF.unlink()
            exec(compile(text, "mischief", "exec"), scope)
        return scope.get("result", scope["right"])
