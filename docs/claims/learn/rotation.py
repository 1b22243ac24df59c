import re
from pathlib import Path
from typing import Any

import numpy as np

import posenc
from posenc_conformance.models.file import load_all

PAGE = Path(__file__).parents[2] / "learn" / "rotation.md"


def most() -> None:
    """More than half of all models have layers with rotary embedding."""
    models = load_all()
    turning = [model for model in models if any(group.turns for group in model.meaning.groups)]
    assert len(turning) > len(models) / 2


def same_rotation() -> None:
    """The page's function against posenc's, with neighbours as pairs."""
    (first, *_) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    namespace: dict[str, Any] = {}
    exec(compile(first.partition("rows = ")[0], str(PAGE), "exec"), namespace)
    x = np.random.default_rng(2).standard_normal((5, 64))
    places = [0, 1, 7, 300, 9000]
    expected = posenc.rope(x, places, layout="interleaved")
    assert np.abs(namespace["rotate"](x, places) - expected).max() < 1e-11
