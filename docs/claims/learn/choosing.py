import re
from pathlib import Path
from typing import Any

from posenc_conformance.models.file import load_all

PAGE = Path(__file__).parents[2] / "learn" / "choosing.md"
SCALED = {"position-interpolation", "ntk-aware", "dynamic-ntk", "yarn", "llama3", "longrope"}
ROTARY = {"rope", "p-rope", "m-rope"}


def learned_size() -> str:
    """A row of 12 heads of 64 channels for each of 2,048 positions."""
    return f"{2048 * 12 * 64:,}"


def t5_size() -> str:
    """A number for each of 32 buckets and 12 heads."""
    return f"| {32 * 12} "


def never_wrong() -> None:
    """The page's function on the configuration of every model of the site."""
    (first, *_) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    namespace: dict[str, Any] = {}
    exec(compile(first.partition("llama_3_1 = ")[0], str(PAGE), "exec"), namespace)
    answers = set()
    for model in load_all():
        name = namespace["encoding_of"](model.config)
        schemes = {group.scheme for group in model.meaning.groups}
        fits = {
            "ALiBi": schemes == {"alibi"},
            "T5's bias": schemes == {"t5-bias"},
            "RoPE": schemes <= ROTARY | {"nope"},
            "look at model_type": True,
        }
        assert fits.get(name, name.startswith("RoPE, scaled") and bool(schemes & SCALED)), model.id
        answers.add(name.partition(" (")[0])
    assert answers == {"ALiBi", "T5's bias", "RoPE", "RoPE, scaled", "look at model_type"}


def most_use_these() -> None:
    """More than half of all models have no other scheme in any layer than those of the table."""
    known = SCALED | {"rope", "sinusoidal", "learned", "t5-bias", "alibi"}
    models = load_all()
    theirs = [model for model in models if {g.scheme for g in model.meaning.groups} <= known]
    assert len(theirs) > len(models) / 2
