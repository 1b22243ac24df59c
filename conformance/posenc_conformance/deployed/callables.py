"""Asking a model in this process: a function that gives logits, or a folder that holds a probe."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.deployed.endpoint import Reading
from posenc_conformance.door import LARGEST_CONFIGURATION, named, read_json
from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.judge.arrays import Array, Floats, to_numpy
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import NotClaimed

Logits = Callable[[list[int]], object]
"""Gives the logits after some tokens: [vocabulary], or [tokens, vocabulary], whose last row counts;
a NumPy array, a tensor of PyTorch, or anything else that NumPy can convert."""


@dataclass(frozen=True)
class Function:
    """A function that gives the logits after some tokens."""

    logits: Logits
    words: Sequence[str]
    """The words of the probe, by token."""
    name: str
    context: int | None = None

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Call the function with a prompt, and again with each likeliest token behind it.

        Raises Misbehaviour if it raises, or gives no logits for the words of the probe.
        """
        tokens, found = [int(token) for token in prompt], []
        for _ in range(steps):
            logits = self._checked(tokens)
            found.append(log_probabilities(logits, self.words))
            tokens.append(int(logits.argmax()))
        return found

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a function takes one text."""
        raise NotClaimed("a function takes one text at a time")

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Call the function with a text, and return what its logits say at some places.

        Raises Misbehaviour if it raises, or gives no logits for each token. Raises NotClaimed for
        several texts.
        """
        if len(texts) > 1:
            raise NotClaimed("a function takes one text at a time")
        tokens = [int(token) for token in texts[0]]
        given = self._given(tokens)
        if given.shape != (len(tokens), len(self.words)):
            raise Misbehaviour(
                f"logits() gave the shape {given.shape}, not [{len(tokens)}, {len(self.words)}]: "
                "an encoder has logits for each token"
            )
        logits = np.asarray(given, dtype=np.float64)
        return [[log_probabilities(logits[place], self.words) for place in places[0]]]

    def _given(self, tokens: list[int]) -> Array:
        """Call the function; raise Misbehaviour if it raises."""
        try:
            return to_numpy(self.logits([*tokens]))
        except Exception as error:
            raise Misbehaviour(f"logits() raised {describe_exception(error)}") from error

    def _checked(self, tokens: list[int]) -> Floats:
        given = self._given(tokens)
        last = given[-1] if given.ndim == 2 else given
        if last.shape != (len(self.words),):
            raise Misbehaviour(
                f"logits() gave the shape {given.shape}, not [{len(self.words)}] or "
                f"[{len(tokens)}, {len(self.words)}]"
            )
        return np.asarray(last, dtype=np.float64)


@dataclass(frozen=True)
class Transformers:
    """A probe in a folder, run by the classes of transformers that are meant for it."""

    model: Any
    words: Sequence[str]
    """The words of the probe, by token."""
    name: str
    context: int | None = None

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Let the model write greedily, with its cache."""
        (found,) = self.read_together([prompt], steps)
        return found

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a model that writes is asked for what it writes."""
        raise NotClaimed("a model that writes is not asked at all places of a text")

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Let the model write behind several prompts at once, padded on the left."""
        return [[*each] for each in zip(*self._read_together(prompts, steps), strict=True)]

    def _read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> Iterator[list[Reading]]:
        import torch

        longest = max(map(len, prompts))
        rows = [[int(token) for token in prompt] for prompt in prompts]
        given = torch.tensor([[0] * (longest - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        written = self.model.generate(
            given,
            attention_mask=mask,
            max_new_tokens=steps,
            min_new_tokens=steps,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
        for logits in written.logits:
            of_step = logits.float().numpy().astype(np.float64)
            yield [log_probabilities(row, self.words) for row in of_step]


@dataclass(frozen=True)
class Encoder(Transformers):
    """The probe of an encoder in a folder, run by the classes of transformers for masked words."""

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Give texts in one batch, padded on the right, and return what is said at some places."""
        import torch

        longest, padding = max(map(len, texts)), int(self.model.config.pad_token_id)
        rows = [[int(token) for token in text] for text in texts]
        given = torch.tensor([row + [padding] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.no_grad():
            out = self.model(given, attention_mask=mask).logits.float().numpy()
        return [
            [log_probabilities(logits[place].astype(np.float64), self.words) for place in asked]
            for logits, asked in zip(out, places, strict=True)
        ]


def log_probabilities(logits: Floats, words: Sequence[str]) -> Reading:
    """Return the log-probability of each word."""
    shifted = logits - logits.max()
    found = shifted - math.log(np.exp(shifted).sum())
    return dict(zip(words, map(float, found), strict=True))


def is_folder(name: str) -> bool:
    """Return whether what ``--impl`` names is a folder that holds a checkpoint."""
    return (Path(name) / "config.json").is_file()


def load_folder(name: str, dtype: str, *, encoder: bool) -> Transformers:
    """Load a probe with transformers, maybe that of an encoder.

    Raises UserError if transformers is not there, or cannot load it.
    """
    words = words_of(Path(name))
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoModelForMaskedLM
    except ImportError as error:
        raise UserError(
            f"--impl={name} is a folder, which transformers would have to load: {error}",
            "install transformers and torch, or serve the folder and give the address",
        ) from None
    loaded = AutoModelForMaskedLM if encoder else AutoModelForCausalLM
    try:
        model = loaded.from_pretrained(name, dtype=getattr(torch, dtype))
    except Exception as error:
        raise UserError(
            f"--impl={name} cannot be loaded: {describe_exception(error)}",
            "the folder must be one that posenc probe has written",
        ) from error
    made = Encoder if encoder else Transformers
    return made(model.eval(), words, "transformers")


def words_of(folder: Path) -> list[str]:
    """Return the words of the probe in a folder, by token.

    Raises UserError if there is no probe.
    """
    path = folder / "tokenizer.json"
    hint = "write one with: posenc probe NAME --out FOLDER"
    found = read_json(path, LARGEST_CONFIGURATION, hint, "is of no probe")
    with named(path, hint, "is of no probe"):
        vocabulary = found["model"]["vocab"]
        return sorted(vocabulary, key=vocabulary.__getitem__)
