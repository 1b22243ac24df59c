"""A checkpoint: what its configuration means, and its tensors, whatever files have them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from posenc_conformance.commands.compare import (
    gguf_meaning,
    gguf_tensors,
    safetensors_files,
    torch_files,
)
from posenc_conformance.commands.compare.stored import HINT, Tensors
from posenc_conformance.door import named
from posenc_conformance.errors import UserError
from posenc_conformance.files import shown
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import (
    FILES,
    Configuration,
    as_released,
    configuration,
    read_configuration,
)
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import NOT_UNDERSTOOD
from posenc_conformance.models.meaning import Meaning

GGUF, TRANSFORMERS, MLX, MISTRAL, META = "GGUF", "transformers", "MLX", "Mistral", "Meta"
FORMATS = {
    GGUF: "a GGUF file",
    TRANSFORMERS: "a folder of transformers",
    MLX: "a folder of MLX",
    MISTRAL: "Mistral's consolidated files",
    META: "a checkpoint of Meta",
}
"""Forms of checkpoints, for people."""
WITHOUT_LENGTHS = ("default", "linear")
LEFT_OVER = ("original_max_position_embeddings", "beta_fast", "beta_slow")
"""Parameters of other scaling that no code reads in a block of these types."""


@dataclass(frozen=True)
class Checkpoint:
    """One side of a comparison."""

    path: Path
    form: str
    config: Configuration
    meaning: Meaning
    tensors: Tensors
    divisors: Floats | None = None
    """A table that divides frequencies and belongs to no known scaling; None in other files."""
    flaws: tuple[gguf_meaning.Flaw, ...] = ()
    """What is wrong with such tables."""
    own: Mapping[str, object] = field(default_factory=dict)
    """The fields of the file by the file's own names, among them the counts of heads."""

    @property
    def words(self) -> str:
        """Describe the checkpoint in a line."""
        count = sum(len(group.layers) for group in self.meaning.groups)
        # The own files of Mistral and Meta name no type.
        type = "" if self.form in (MISTRAL, META) else f", type {self.config.type}"
        layers = f"{count} layer{'s' * (count != 1)}"
        return f"{shown(self.path)}: {FORMATS[self.form]}{type}, {layers}"


def open_checkpoint(path: Path) -> Checkpoint:
    """Open a folder or a GGUF file, and derive what its configuration means.

    Raises UserError for a file that cannot be read, and for a configuration that is not understood.
    """
    if not os.path.exists(path):  # Path.exists raises for a name that is too long
        raise UserError(f"there is no {shown(path)}", HINT)
    if path.name in FILES and path.is_file():
        path = path.parent
    file = _gguf_in(path)
    if file is not None:
        return _from_gguf(file)
    if not path.is_dir():
        raise UserError(f"{shown(path)} is neither a folder nor named .gguf", HINT)
    form, file = _of_folder(path)
    with named(path, NOT_UNDERSTOOD, "is not understood"):
        config, derived = _understood(file)
    tensors = (
        torch_files.tensors_in(path)
        if form == META
        else safetensors_files.tensors_in(path, _raw(path))
    )
    own = as_released(file) if form in (MISTRAL, META) else config.fields
    return Checkpoint(path, form, config, derived, tensors, own=own)


def _gguf_in(path: Path) -> Path | None:
    """Return the GGUF file that a path names, or the only one in a folder of nothing else."""
    if path.suffix == ".gguf" and not path.is_dir():
        return path
    files = sorted(path.glob("*.gguf")) if path.is_dir() else []
    if files and not (path / "config.json").is_file() and not (path / "params.json").is_file():
        first = [file for file in files if "-00001-of-" in file.name]
        if len(files) > 1 and len(first) != 1:
            raise UserError(f"{shown(path)} has {len(files)} GGUF files", "give one of them")
        return first[0] if first else files[0]
    return None


def _understood(file: Path) -> tuple[Configuration, Meaning]:
    """Return a configuration and what it means.

    What is left over from other scaling, and read by no code, is left out if it stands in the way.
    """
    try:
        config = read_configuration(file)
        return config, meaning(config)
    except UserError:
        raw = as_released(file)
        bare = {name: _without_idle(value) for name, value in raw.items()}
        if file.name != FILES[0] or bare == raw:
            raise
        config = configuration(bare, str(file))
        return config, meaning(config)


def _without_idle(value: object) -> object:
    """Return a block of scaling without parameters that its type does not have."""
    if not isinstance(value, dict) or value.get("rope_type") not in WITHOUT_LENGTHS:
        return value
    return {name: part for name, part in value.items() if name not in LEFT_OVER}


def _of_folder(path: Path) -> tuple[str, Path]:
    """Return the form of a folder's checkpoint, and the file with its configuration.

    Beside Mistral's or Meta's own files, only params.json says what they mean.
    """
    weights = sorted(path.glob("*.safetensors")) if (path / "config.json").is_file() else []
    if any("consolidated" not in file.name for file in weights):
        grouped = isinstance(_raw(path).get("quantization"), dict)
        form = MLX if grouped or safetensors_files.is_of_mlx(path) else TRANSFORMERS
        return form, path / "config.json"
    for form, pattern in ((META, "consolidated.*.pth"), (MISTRAL, "consolidated*.safetensors")):
        if sorted(path.glob(pattern)) and (path / "params.json").is_file():
            return form, path / "params.json"
    if (path / "config.json").is_file():
        return TRANSFORMERS, path / "config.json"
    raise UserError(f"{shown(path)} has neither a config.json nor consolidated files", HINT)


def _raw(path: Path) -> dict[str, object]:
    file = path / "config.json"
    return as_released(file) if file.is_file() else {}


def _from_gguf(path: Path) -> Checkpoint:
    with named(path, NOT_UNDERSTOOD, "is not understood"):
        tensors, loaded = gguf_tensors.tensors_of(path), gguf_meaning.load(path)
    return Checkpoint(
        path,
        GGUF,
        loaded.config,
        loaded.meaning,
        tensors,
        loaded.divisors,
        loaded.flaws,
        loaded.own,
    )
