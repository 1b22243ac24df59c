"""``posenc probe``: write a checkpoint that lets a deployed engine be judged."""

from collections.abc import Iterator
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
from posenc_conformance.errors import UserError
from posenc_conformance.files import Writer, shown
from posenc_conformance.models.file import NOT_UNDERSTOOD, Model

SPELLINGS = ("released", "transformers-5")
"""Spellings of config.json: as released, or as transformers 5 saves it."""


def write_probe(
    name: str, out: str, dtype: str, spelling: str, *, force: bool = False
) -> Iterator[str]:
    """Write the probe of a model of the spec, or of a config.json, and yield instructions.

    Raises UserError for a model that no probe can be made of, for a folder that cannot be written,
    and, unless ``force`` is given, for a folder in which files would be lost.
    """
    _demand_known(dtype)
    _demand_name(out)
    if spelling not in SPELLINGS:
        raise UserError(f"--spelling={spelling} is not known", f"give {' or '.join(SPELLINGS)}")
    model = model_of(name)
    spelt = as_saved_by_transformers_5 if spelling == "transformers-5" else dict
    with named(name, NOT_UNDERSTOOD, "cannot be made a probe of"):
        probe = probe_for(model)
        size = write_checkpoint(probe, dtype, Path(out), spelt, force=force)
    yield from _told(model, out, size, dtype, f"vllm serve {out}", name)


def write_gguf(name: str, out: str, dtype: str, *, force: bool = False) -> Iterator[str]:
    """Write a probe as a GGUF file, for engines that load one, and yield instructions.

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
        content = gguf_of(probe_for(model), model.meaning, dtype)
    writer.write({Path(out): content})
    yield from _told(model, out, len(content), dtype, f"llama-server -m {out}", name)


def _demand_known(dtype: str) -> None:
    """Raise UserError for a dtype that weights cannot have."""
    if dtype not in STORED:
        raise UserError(f"--dtype={dtype} is not known", f"give one of {', '.join(STORED)}")


def _demand_name(out: str) -> None:
    """Raise UserError for an empty name, as from an unset variable of a shell."""
    if not out:
        raise UserError("--out= names nothing", "say where to write the probe")


def _told(model: Model, out: str, size: int, dtype: str, served: str, name: str) -> Iterator[str]:
    """Yield lines on the written probe, and instructions."""
    out, name, served = shown(out), shown(name), shown(served)
    yield f"wrote {out}: a probe of {model.title}, {size / 1e6:.1f} MB in {dtype}"
    if text_of(model.config) is not model.config:
        yield f"it is of the text alone, as a model of the type {model.configuration.type}"
    own = "" if model.id == name_of(model) else f" --posenc-model={name}"
    if is_encoder(model):
        yield f"then judge what transformers makes of it: pytest --impl={out}{own}"
        function = own or f" --posenc-model={name}"
        output = "the logits of a text"
        if has_two_texts(model):
            output = "logits after the tokens of both texts"
        yield f"or a function that gives {output}: pytest --impl=logits:…{function}"
        return
    yield f"serve it as you serve the model, for instance: {served}"
    yield f"then judge the engine: pytest --impl=http://localhost:8000/v1{own}"
