"""Models in this process: a function that returns logits, or a folder with a probe."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posenc_conformance.deployed.http.endpoint import Reading
from posenc_conformance.deployed.instrument import Instrument
from posenc_conformance.door import LARGEST_CONFIGURATION, named, read_json
from posenc_conformance.errors import UserError, describe_exception, is_refusal
from posenc_conformance.judge.arrays import Array, Floats, dtype_name
from posenc_conformance.judge.form import as_array
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour
from posenc_conformance.judge.process_state import preventing_exit
from posenc_conformance.judge.verdict import NotClaimed

Logits = Callable[..., object]
"""Returns the logits after some tokens: [vocabulary], or [tokens, vocabulary], whose last row
counts; a NumPy array, a PyTorch tensor, or anything else that NumPy can convert. For an encoder
with a decoder it takes the tokens of both."""


AGAIN = "write the probe again: posenc probe NAME --out FOLDER"
REAL = "fiuV"
"""NumPy's kinds of real numbers; the last one is that of bfloat16 and similar dtypes."""


class Kind(Enum):
    """The way in which a model uses texts."""

    WRITES = "it goes on from a text"
    ENCODER = "it reads a text as a whole"
    TWO_TEXTS = "it reads a text as a whole, and writes another one"


@runtime_checkable
class Concurrent(Protocol):
    """A function that says whether it may be called from several threads at the same time."""

    concurrent: bool


@dataclass(frozen=True)
class Running:
    """How transformers runs a probe in a folder."""

    device: str = ""
    """A device of PyTorch; the CPU if empty."""
    attention: str = ""
    """An attention of transformers; its default if empty."""
    compiled: bool = False
    """Whether ``torch.compile`` compiles the model."""
    static: bool = False
    """Whether the KV cache has a fixed length."""

    def __str__(self) -> str:
        """Return the settings that are not defaults, for people."""
        settings = (self.device, self.attention, "compiled" * self.compiled)
        return ", ".join(filter(None, (*settings, "static cache" * self.static)))


AS_USUAL = Running()
LEAST_REUSED = 1024
"""Least number of tokens of a beginning that is computed only once."""


@dataclass(frozen=True)
class Function:
    """A function that returns the logits after some tokens."""

    logits: Logits
    words: Sequence[str]
    """The words of the probe, by token."""
    name: str
    context: int | None = None

    @property
    def concurrent(self) -> bool:
        """Whether the function says that it may be called from several threads."""
        return isinstance(self.logits, Concurrent) and bool(self.logits.concurrent)

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Call the function with a prompt, and again with each likeliest token appended.

        Raises Misbehaviour if it raises, or returns no logits for the words of the probe.
        """
        return self._written([], prompt, steps)

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[Reading]]:
        """Do as ``read`` with a function that takes the encoder's tokens, then the decoder's.

        Raises NotClaimed for several texts.
        """
        if len(texts) > 1:
            raise NotClaimed("a function takes one text at a time")
        return [self._written([[int(token) for token in texts[0]]], begun[0], steps)]

    def _written(
        self, before: list[list[int]], prompt: Sequence[int] | str, steps: int
    ) -> list[Reading]:
        """Call the function repeatedly; ``before`` are its other arguments."""
        tokens, readings = [int(token) for token in prompt], []
        for _ in range(steps):
            logits = self._checked(before, tokens)
            readings.append(log_probabilities(logits, self.words))
            tokens.append(int(logits.argmax()))
        return readings

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a function takes one text."""
        raise NotClaimed("a function takes one text at a time")

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Call the function with a text, and return its log-probabilities at ``places``.

        Raises Misbehaviour if it raises, or does not return logits for each token. Raises
        NotClaimed for several texts.
        """
        if len(texts) > 1:
            raise NotClaimed("a function takes one text at a time")
        tokens = [int(token) for token in texts[0]]
        logits = self._given(tokens)
        if logits.shape != (len(tokens), len(self.words)):
            raise Misbehaviour(
                f"logits() gave the shape {logits.shape}, not [{len(tokens)}, {len(self.words)}]: "
                "an encoder has logits for each token"
            )
        return [[log_probabilities(logits[place], self.words) for place in places[0]]]

    def _given(self, *texts: list[int]) -> Floats:
        """Call the function; raise Misbehaviour if it raises, or returns no real numbers."""
        try:
            with preventing_exit():
                result = self.logits(*([*tokens] for tokens in texts))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            both = ", given the encoder's tokens and the decoder's" if len(texts) > 1 else ""
            kind = Misbehaviour if is_refusal(error) else Escape
            raise kind(f"logits() raised {describe_exception(error)}{both}") from error
        return _real(as_array("logits", result))

    def _checked(self, before: list[list[int]], tokens: list[int]) -> Floats:
        logits = self._given(*before, tokens)
        last = logits[-1] if logits.ndim == 2 and len(logits) else logits
        if last.shape != (len(self.words),):
            raise Misbehaviour(
                f"logits() gave the shape {logits.shape}, not [{len(self.words)}] or "
                f"[{len(tokens)}, {len(self.words)}]"
            )
        return last


def _real(given: Array) -> Floats:
    """Return numbers as float64; raise Misbehaviour if they are not real numbers."""
    if given.dtype.kind in REAL:
        with suppress(TypeError, ValueError):
            return given.astype(np.float64)
    raise Misbehaviour(f"logits() returned {dtype_name(given)}, which are no real numbers")


@dataclass(frozen=True)
class Transformers:
    """A probe in a folder, run by the matching classes of transformers."""

    model: Any
    words: Sequence[str]
    """The words of the probe, by token."""
    name: str
    context: int | None = None
    running: Running = AS_USUAL
    last: list[tuple[list[int], Any]] = field(default_factory=list)
    """The last long text and its KV cache; empty if there is none that can be cut."""

    @property
    def concurrent(self) -> bool:
        """Whether texts may be run in several threads: not by a compiled model."""
        return not self.running.compiled

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Generate greedily, with the model's KV cache, and that of a text that begins alike.

        Only long beginnings are reused: prompts share them where that is meant to save time.
        """
        text = [int(token) for token in prompt]
        if len(text) <= LEAST_REUSED or self.running.static or self.running.compiled:
            (readings,) = self.read_together([prompt], steps)
            return readings
        tokens, mask = map(self._tensor, padded([text]))
        given = {"input_ids": tokens, "attention_mask": mask}
        if kept := self._kept(text):
            given["cache"] = kept
        written = self._generate(steps, **given)
        if _can_be_cut(cache := written.get("cache")):  # early versions have no such name
            self.last.append((text, cache))
        return [reading for (reading,) in self._readings(written)]

    def _kept(self, text: list[int]) -> Any:
        """Return the cache of the last long text, cut to a long beginning of this one, or None."""
        empty: tuple[list[int], Any] = ([], None)
        before, cache = self.last.pop() if self.last else empty
        differ = (n for n, pair in enumerate(zip(before, text, strict=False)) if len({*pair}) > 1)
        alike = next(differ, min(len(before), len(text) - 1))
        if alike <= LEAST_REUSED:
            return None
        cache.crop(alike - cache.get_seq_length())
        return cache

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a generating model is not measured at positions of its prompt."""
        raise NotClaimed("a model that writes is not asked at all places of a text")

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[Reading]]:
        """Raise NotClaimed: the model has no encoder."""
        raise NotClaimed("a model without an encoder takes no second text")

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Generate after several prompts in one batch, padded on the left."""
        return [[*of_text] for of_text in zip(*self._read_together(prompts, steps), strict=True)]

    def _read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> Iterator[list[Reading]]:
        tokens, mask = map(self._tensor, padded(prompts, left=True))
        yield from self._generated(steps, input_ids=tokens, attention_mask=mask)

    def _generated(self, steps: int, **given: Any) -> Iterator[list[Reading]]:
        """Generate tokens, and yield the log-probabilities at each step, one mapping per text."""
        if self.running.static:
            given["cache_implementation"] = "static"
        yield from self._readings(self._generate(steps, **given))

    def _generate(self, steps: int, **given: Any) -> Any:
        """Generate tokens; return the logits at each step, and the KV cache."""
        with _raising_misbehaviour():
            return self.model.generate(
                **given,
                max_new_tokens=steps,
                min_new_tokens=steps,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )

    def _readings(self, written: Any) -> Iterator[list[Reading]]:
        """Yield the log-probabilities at each step, one mapping per text."""
        for logits in written.logits:
            of_step = logits.float().cpu().numpy().astype(np.float64)
            yield [log_probabilities(row, self.words) for row in of_step]

    def _tensor(self, rows: list[list[int]]) -> Any:
        import torch

        return torch.tensor(rows, device=self.model.device)


@dataclass(frozen=True)
class Encoder(Transformers):
    """The probe of an encoder in a folder, run by transformers' classes for masked tokens."""

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Run texts in one batch, padded on the right; return log-probabilities at ``places``."""
        import torch

        padding = int(self.model.config.pad_token_id)
        tokens, mask = map(self._tensor, padded(texts, padding))
        with torch.no_grad(), _raising_misbehaviour():
            out = self.model(tokens, attention_mask=mask).logits.float().cpu().numpy()
        return [
            [log_probabilities(logits[place].astype(np.float64), self.words) for place in chosen]
            for logits, chosen in zip(out, places, strict=True)
        ]


@dataclass(frozen=True)
class TwoTexts(Transformers):
    """The probe of an encoder with a decoder, run by transformers' classes for such models."""

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[Reading]]:
        """Generate after ``begun``, padded left, for one batch of texts, padded right."""
        text, mask = map(self._tensor, padded(texts))
        start, seen = map(self._tensor, padded(begun, left=True))
        inputs = {"input_ids": text, "attention_mask": mask, "decoder_input_ids": start}
        inputs["decoder_attention_mask"] = seen
        return [[*of_text] for of_text in zip(*self._generated(steps, **inputs), strict=True)]


def _can_be_cut(cache: Any) -> bool:
    """Return whether a KV cache has a row for each token in every layer."""
    try:
        from transformers.cache_utils import DynamicCache, DynamicLayer
    except ImportError:
        return False
    whole = isinstance(cache, DynamicCache)
    return whole and all(type(layer) is DynamicLayer for layer in cache.layers)


@contextmanager
def _raising_misbehaviour() -> Iterator[None]:
    """Turn exceptions of a model into Misbehaviour."""
    try:
        yield
    except Exception as error:
        raise Misbehaviour(f"transformers raised {describe_exception(error)}") from error


def padded(
    texts: Sequence[Sequence[int] | str], padding: int = 0, *, left: bool = False
) -> tuple[list[list[int]], list[list[int]]]:
    """Return texts padded to the longest, and attention masks: 1 for tokens, 0 for padding."""
    longest = max(map(len, texts))
    rows, masks = [], []
    for text in texts:
        row, more = [int(token) for token in text], longest - len(text)
        mask, filled = [1] * len(row), [padding] * more
        rows.append(filled + row if left else row + filled)
        masks.append([0] * more + mask if left else mask + [0] * more)
    return rows, masks


def log_probabilities(logits: Floats, words: Sequence[str]) -> Reading:
    """Return the log-probability of each word.

    Raises Misbehaviour if one is NaN or infinitely large, or none is finite.
    """
    if not np.isfinite(largest := logits.max()):
        raise Misbehaviour(f"the largest logit is {largest}")
    shifted = logits - largest
    values = shifted - math.log(np.exp(shifted).sum())
    return dict(zip(words, map(float, values), strict=True))


def is_folder(name: str) -> bool:
    """Return whether ``--impl`` names a folder with a checkpoint."""
    return os.path.isfile(os.path.join(name, "config.json"))  # False if it is not a path


def load_folder(name: str, dtype: str, kind: Kind, running: Running) -> Transformers:
    """Load a probe with transformers.

    Raises UserError if transformers is missing, or cannot load it.
    """
    words, path = words_of(Path(name)), Path(name, "config.json")
    config = read_json(path, LARGEST_CONFIGURATION, AGAIN)
    try:
        import torch
        from transformers import AutoModelForMaskedLM, AutoModelForSeq2SeqLM, GenerationConfig

        decoder = _decoder(isinstance(config, dict) and "vision_config" in config)
    except ImportError as error:
        raise UserError(
            f"--impl={name} is a folder, which transformers would have to load: {error}",
            "install transformers and torch, or serve the folder and give the address",
        ) from None
    loaded = {
        Kind.WRITES: decoder,
        Kind.ENCODER: AutoModelForMaskedLM,
        Kind.TWO_TEXTS: AutoModelForSeq2SeqLM,
    }
    _demand_no_code(path, config)
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)  # more threads wait for each other in so small a model
    try:
        # Data of a folder never run code: neither files in the folder, nor pickled weights.
        model = (
            loaded[kind]
            .from_pretrained(
                name,
                dtype=getattr(torch, dtype),
                trust_remote_code=False,
                use_safetensors=True,
                local_files_only=True,
                attn_implementation=running.attention or None,
            )
            .to(running.device or "cpu")
        )
        if running.compiled:
            model.forward = torch.compile(model.forward, dynamic=True)
    except Exception as error:
        raise UserError(
            f"--impl={name} cannot be loaded: {describe_exception(error)}",
            f"posenc probe writes such a folder; PyTorch and transformers must support {running}"
            if str(running)
            else "the folder must be one that posenc probe has written",
        ) from error
    if kind is not Kind.ENCODER:
        model.generation_config = _greedy(model.generation_config, GenerationConfig)
    made = {Kind.WRITES: Transformers, Kind.ENCODER: Encoder, Kind.TWO_TEXTS: TwoTexts}
    title = f"transformers ({running})" if str(running) else "transformers"
    return made[kind](model.eval(), words, title, running=running)


def _greedy(own: Any, kind: Any) -> Any:
    """Return a configuration for greedy generation, with the special tokens of a folder.

    The folder's own beams, sampling and penalties would generate other tokens.
    """
    return kind(
        bos_token_id=own.bos_token_id,
        eos_token_id=own.eos_token_id,
        pad_token_id=own.pad_token_id,
        decoder_start_token_id=own.decoder_start_token_id,
    )


def _decoder(has_images: bool) -> Any:
    """Import the class for models that write; one with a part for images has no class without."""
    if has_images:
        from transformers import AutoModelForImageTextToText  # not in early versions

        return AutoModelForImageTextToText
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM


def _demand_no_code(path: Path, config: Any) -> None:
    """Raise UserError for a configuration that names code: files beside it, or kernels of a hub."""
    for name, value in _fields(config):
        if name == "auto_map" or (name.endswith("attn_implementation") and "/" in str(value)):
            raise UserError(f"{path} names code to be run, under {name}; none is run", AGAIN)


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all objects in a JSON document."""
    if isinstance(document, dict):
        yield from document.items()
        document = [*document.values()]
    if isinstance(document, list):
        for part in document:
            yield from _fields(part)


def name_in(folder: Path) -> str:
    """Return the name with which the probe in a folder identifies itself.

    Raises UserError if there is no probe.
    """
    words = words_of(folder)
    if len(words) <= Instrument.name_token:
        raise UserError(
            f"{folder / 'tokenizer.json'} is of no probe: it has {len(words)} words",
            "write one with: posenc probe NAME --out FOLDER",
        )
    return words[Instrument.name_token]


def words_of(folder: Path) -> list[str]:
    """Return the words of the probe in a folder, by token.

    Raises UserError if there is no probe.
    """
    path = folder / "tokenizer.json"
    hint = "write one with: posenc probe NAME --out FOLDER"
    document = read_json(path, LARGEST_CONFIGURATION, hint, "is of no probe")
    with named(path, hint, "is of no probe"):
        vocabulary = document["model"]["vocab"]
        return sorted(vocabulary, key=vocabulary.__getitem__)
