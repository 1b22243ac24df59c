"""Values that a file leaves out: what they are taken as, and by whom.

A reader of files fills in what is missing, and readers differ. A value is taken from the reader
whose format the file is in, and the others are named with it where they take another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.models.architectures import ROTARY, Rotary

TRANSFORMERS = "transformers' class"
OWN_CODE = "the code that the type is released with"
MISTRAL = "mistral-inference"
META = "Meta's code for Llama 1 and 2"
META_3 = "Meta's code for Llama 3"
LLAMA_CPP = "llama.cpp's loader"
OLLAMA = "Ollama's compatibility code"
DIFFUSERS = "diffusers' class"
"""Readers of files, who have defaults."""

ELSEWHERE = frozenset(
    ["chatglm", "exaone4_5_text", "internlm2", "kimi_k2", "mimo", "minicpm", "phi3_v"]
)
"""Types that transformers does not have, whose defaults are those of their own code."""


@dataclass(frozen=True)
class Default:
    """A field that a file does not have, with the value that its reader takes."""

    field: str
    value: Any
    owner: str
    others: tuple[tuple[str, Any], ...] = ()
    """Other readers that take another value, each with that value."""

    @property
    def words(self) -> str:
        """The default as a phrase, with the readers that take another value."""
        differing = ", ".join(f"{owner}: {shown(value)}" for owner, value in self.others)
        more = f" ({differing})" if differing else ""
        return f"{self.field} {shown(self.value)}{more}"


def shown(value: Any) -> str:
    """Format the value of a default."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if number else str(value)


def of_class(type: str, fields: Mapping[str, Any]) -> tuple[Default, ...]:
    """Return the defaults about positions that a type's class fills into a config.json.

    ``fields`` are those of the file, under the names of this package, without defaults.
    """
    if type not in ROTARY:
        return ()
    owner = OWN_CODE if type in ELSEWHERE else TRANSFORMERS
    return tuple(Default(name, value, owner) for name, value in _missing(ROTARY[type], fields))


def _missing(style: Rotary, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    full, local = style.base_fields
    for name, value in ((full, style.base), (local, style.local_base)):
        if value is not None and not _says(fields, name, "rope_theta"):
            yield name, value * (fields.get("rope_ratio") or 1)
    if style.partial != 1 and not _says(fields, "partial_rotary_factor"):
        yield "partial_rotary_factor", style.partial
    if style.head_dim is not None and not _says(fields, "head_dim") and not style.latent:
        yield "head_dim", style.head_dim
    yield from ((name, value) for name, value in style.defaults.items() if name not in fields)


def _says(fields: Mapping[str, Any], *names: str) -> bool:
    """Return whether a field, or a block about rotation or a part of it, has one of these names."""
    blocks = [fields.get(name) for name in ("rope_parameters", "rope_scaling")]
    places = [fields.get(names[0])]
    for block in blocks:
        if isinstance(block, Mapping):
            inner = [part for part in block.values() if isinstance(part, Mapping)]
            places += [part.get(name) for part in (block, *inner) for name in names]
    return any(value is not None for value in places)
