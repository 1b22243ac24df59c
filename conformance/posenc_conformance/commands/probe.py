"""``posenc probe``: write a checkpoint that lets a deployed engine be judged."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from posenc_conformance.deployed.checkpoint.gguf_file import gguf_of, is_probe
from posenc_conformance.deployed.checkpoint.spelling import as_saved_by_transformers_5
from posenc_conformance.deployed.checkpoint.writing import STORED, write_checkpoint
from posenc_conformance.deployed.engine import (
    has_two_texts,
    is_encoder,
    model_of,
    name_of,
    probe_for,
)
from posenc_conformance.deployed.probe_checkpoint import text_of
from posenc_conformance.door import named
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import Writer, shown
from posenc_conformance.models.file import NOT_UNDERSTOOD, Model
from posenc_conformance.models.sources import one_source_words

SPELLINGS = ("released", "transformers-5")
"""Spellings of config.json: as released, or as transformers 5 saves it."""


@dataclass(frozen=True)
class Server:
    """A server that instructions name, and what it does without further options."""

    command: str
    port: int
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """Options for weights whose dtype the server would not compute in."""
    cache: str = ""
    """The dtype of its cache, if that is shorter than float32."""

    def line(self, out: str, dtype: str) -> str:
        """Return the line that serves a probe."""
        return f"{self.command} {out}{self.dtypes.get(dtype, '')}"

    def claim(self, dtype: str) -> str:
        """Return the dtype to claim: the shortest of weights and cache."""
        return self.cache if self.cache and dtype == "float32" else dtype


VLLM = Server("vllm serve", 8000, {"float32": " --dtype float32"})
LLAMA_CPP = Server("llama-server -m", 8080, cache="float16")


@dataclass(frozen=True)
class Written:
    """A probe that was written."""

    model: Model
    name: str
    """The model, as the user named it."""
    out: str
    dtype: str
    size: int
    """The size in bytes."""
    all_heads: bool
    """Whether it has as many heads as the model."""

    @property
    def line(self) -> str:
        """What was written, in a line."""
        size = f"{self.size / 1e6:.1f} MB in {self.dtype}"
        return f"wrote {shown(self.out)}: a probe of {self.model.title}, {size}"


def save_probe(
    name: str,
    out: str,
    dtype: str,
    spelling: str,
    *,
    force: bool = False,
    all_heads: bool = False,
) -> Written:
    """Write the probe of a model of the spec, or of a config.json, into a folder.

    Raises UserError for a model that no probe can be made of, for a folder that cannot be written,
    and, unless ``force`` is given, for a folder in which files would be lost.
    """
    _demand_known(dtype)
    _demand_name(out)
    demand_spelling(spelling)
    model = model_of(name)
    spelt = as_saved_by_transformers_5 if spelling == "transformers-5" else dict
    with named(name, NOT_UNDERSTOOD, "cannot be made a probe of"):
        probe = probe_for(model, all_heads=all_heads)
        size = write_checkpoint(probe, dtype, Path(out), spelt, force=force)
    return Written(model, name, out, dtype, size, all_heads)


def demand_spelling(spelling: str) -> None:
    """Raise UserError for a spelling of config.json that there is not."""
    if spelling not in SPELLINGS:
        raise UserError(
            f"--spelling={in_line(spelling)} is not known", f"give {' or '.join(SPELLINGS)}"
        )


def save_gguf(
    name: str, out: str, dtype: str, *, force: bool = False, all_heads: bool = False
) -> Written:
    """Write a probe as a GGUF file, for engines that load one.

    Raises UserError for a model that no probe can be made of, for a file that cannot be written,
    and, unless ``force`` is given, for an existing file that would be lost.
    """
    _demand_known(dtype)
    _demand_name(out)
    foreign = "is not as posenc probe writes it, and would be lost"
    writer = Writer(is_probe, foreign, force, streams=True)
    writer.demand([Path(out)])
    model = model_of(name)
    with named(name, NOT_UNDERSTOOD, "cannot be made a probe of"):
        content = gguf_of(probe_for(model, all_heads=all_heads), model.meaning, dtype)
    writer.write({Path(out): content})
    return Written(model, name, out, dtype, len(content), all_heads)


def write_probe(
    name: str,
    out: str,
    dtype: str,
    spelling: str,
    *,
    force: bool = False,
    all_heads: bool = False,
) -> Iterator[str]:
    """Write a probe as ``save_probe`` does, and yield instructions."""
    written = save_probe(name, out, dtype, spelling, force=force, all_heads=all_heads)
    yield from _told(written, VLLM)


def write_gguf(
    name: str, out: str, dtype: str, *, force: bool = False, all_heads: bool = False
) -> Iterator[str]:
    """Write a GGUF file as ``save_gguf`` does, and yield instructions."""
    written = save_gguf(name, out, dtype, force=force, all_heads=all_heads)
    yield from _told(written, LLAMA_CPP)


def _demand_known(dtype: str) -> None:
    """Raise UserError for a dtype that weights cannot have."""
    if dtype not in STORED:
        raise UserError(f"--dtype={dtype} is not known", f"give one of {', '.join(STORED)}")


def _demand_name(out: str) -> None:
    """Raise UserError for an empty name, as from an unset variable of a shell."""
    if not out:
        raise UserError("--out= names nothing", "say where to write the probe")


def _told(written: Written, server: Server) -> Iterator[str]:
    """Yield lines on the written probe, and instructions that fit it."""
    model, out, name = written.model, shlex.quote(shown(written.out)), shown(written.name)
    yield written.line
    if model.one_source:
        yield f"{one_source_words(model.one_source)}; an error there would be in the probe as well"
    if text_of(model.config) is not model.config:
        yield f"it is of the text alone, as a model of the type {model.configuration.type}"
    own = "" if model.id == name_of(model) else f" --posenc-model={shlex.quote(name)}"
    if is_encoder(model):
        dtype = _claim(written.dtype)
        yield f"then judge what transformers makes of it: pytest --impl={out}{own}{dtype}"
        function = own or f" --posenc-model={name}"
        output = "the logits of a text"
        if has_two_texts(model):
            output = "logits after the tokens of both texts"
        yield f"or a function that gives {output}: pytest --impl=logits:…{function}"
        return
    serve, claim = server.line(out, written.dtype), _claim(server.claim(written.dtype))
    yield f"serve it as you serve the model, for instance: {serve}"
    yield f"then judge the engine: pytest --impl=http://localhost:{server.port}/v1{own}{claim}"
    command = f"posenc judge ENGINE {shlex.quote(name)}{' --all-heads' * written.all_heads}"
    yield f"or all of it at once, an engine of posenc engines: {command}"


def _claim(dtype: str) -> str:
    """Return the option that claims a dtype; none for the one that is claimed without it."""
    return "" if dtype == "bfloat16" else f" --posenc-dtype={dtype}"
