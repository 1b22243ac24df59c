"""Training a model, and testing it place by place."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from posenc_lab.length.model import LAYERS, Decoder
from posenc_lab.length.positions import HEADS, SCHEMES, TESTED, TRAINED, WIDTH, Rotary, Rotate
from posenc_lab.length.tasks import BACK, SILENT, SYMBOLS, TASKS, Task


@dataclass(frozen=True)
class Settings:
    """Settings of training and testing, the same for every scheme."""

    batch: int = 16
    learning_rate: float = 0.008
    warmup: int = 50
    final_rate: float = 0.1
    """Fraction of the learning rate at the end of the cosine schedule."""
    betas: tuple[float, float] = (0.9, 0.98)
    clipped_norm: float = 1.0
    tested_sequences: int = 256
    bin: int = 10
    """Number of places that are scored together."""

    def rate(self, step: int, steps: int) -> float:
        """Return the fraction of the learning rate at a step."""
        cosine = (1 + math.cos(math.pi * step / steps)) / 2
        return min(1, (step + 1) / self.warmup) * (self.final_rate + (1 - self.final_rate) * cosine)


def describe(settings: Settings) -> dict[str, Any]:
    """Return everything that is needed to reproduce the training."""
    return {
        "trained_length": TRAINED,
        "tested_length": TESTED,
        "layers": LAYERS,
        "width": WIDTH,
        "heads": HEADS,
        "symbols": SYMBOLS,
        "back": BACK,
        "steps": {task.name: task.steps for task in TASKS.values()},
        **asdict(settings),
    }


@dataclass(frozen=True)
class Scores:
    """Means over the answers in the test sequences."""

    accuracy: float
    loss: float


@dataclass(frozen=True)
class Result:
    """The scores of one model in one test."""

    task: str
    scheme: str
    """The scheme of the test: rope with another rotation has that rotation's name."""
    trained: str
    seed: int
    alone: Scores
    """Scores in sequences of length TRAINED."""
    within: Scores
    """Scores at the first TRAINED places of sequences of length TESTED."""
    beyond: Scores
    accuracy_by_place: tuple[float, ...]
    loss_by_place: tuple[float, ...]

    def plain(self) -> dict[str, Any]:
        """Return a dictionary, with no more digits than 256 sequences justify."""
        return {name: _rounded(value) for name, value in asdict(self).items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, tuple) else value


def deterministic() -> None:
    """Make torch deterministic: one thread, and a fixed order of summation."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Filling every new tensor takes time; nothing here reads memory before writing it.
    torch.utils.deterministic.fill_uninitialized_memory = False


def trained(task: Task, scheme: str, seed: int, settings: Settings) -> Decoder:
    """Train and return a model; only the test shows whether it learned anything."""
    torch.manual_seed(seed)
    model = Decoder(SCHEMES[scheme])
    # A random stream apart from the weights', so that a seed gives all schemes the same batches.
    data = torch.Generator().manual_seed(1_000_000 + seed)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=settings.learning_rate, betas=settings.betas
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: settings.rate(step, task.steps)
    )
    for _ in range(task.steps):
        tokens, answers = task.draw(settings.batch, TRAINED, data)
        logits = model(tokens)
        loss = functional.cross_entropy(logits.transpose(1, 2), answers, ignore_index=SILENT)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clipped_norm)
        optimizer.step()
        schedule.step()
    return model


@contextmanager
def rotating(model: Decoder, rotate: Rotate | None) -> Iterator[None]:
    """Rotate a rotary model's queries and keys in another way while the context lasts."""
    parts = [layer.position for layer in model.layers if isinstance(layer.position, Rotary)]
    before = [part.rotate for part in parts]
    for part in parts:
        part.rotate = rotate or part.rotate
    yield
    for part, old in zip(parts, before, strict=True):
        part.rotate = old


def test_sequences(task: Task, settings: Settings) -> tuple[Tensor, Tensor]:
    """Return the test sequences and answers, the same for every scheme and seed."""
    return task.draw(settings.tested_sequences, TESTED, torch.Generator().manual_seed(0))


def questions(task: Task, settings: Settings) -> list[int]:
    """Return the number of answers in each bin of places."""
    counts = (test_sequences(task, settings)[1] != SILENT).sum(dim=0)
    return [int(places.sum()) for places in counts.split(settings.bin)]


@torch.no_grad()
def tested(model: Decoder, task: Task, length: int, settings: Settings) -> tuple[Tensor, ...]:
    """Return right answers, losses and questions, summed over sequences: each of shape [length].

    Shorter sequences are prefixes of those of length TESTED.
    """
    batches = (sequences[:, :length].split(32) for sequences in test_sequences(task, settings))
    sums = torch.zeros(3, length, dtype=torch.float64)
    for batch, targets in zip(*batches, strict=True):
        logits = model(batch)
        has_answer = targets != SILENT
        loss = functional.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=SILENT, reduction="none"
        )
        right = (logits.argmax(dim=-1) == targets) & has_answer
        sums += torch.stack([right, loss, has_answer]).double().sum(dim=1)
    return tuple(sums)


def _scores(sums: tuple[Tensor, ...], places: slice) -> Scores:
    right, loss, answered = (total[places].sum().item() for total in sums)
    return Scores(right / answered, loss / answered)


def results(task_name: str, scheme: str, seed: int, settings: Settings) -> list[Result]:
    """Return the results of a model as trained, and with every rotation of the test."""
    deterministic()
    task = TASKS[task_name]
    model = trained(task, scheme, seed, settings)
    ways = {scheme: None, **(SCHEMES[scheme].at_test or {})}
    scored = []
    for name, rotate in ways.items():
        with rotating(model, rotate):
            alone = tested(model, task, TRAINED, settings)
            whole = tested(model, task, TESTED, settings)
        bins = [
            _scores(whole, slice(start, start + settings.bin))
            for start in range(0, TESTED, settings.bin)
        ]
        scored.append(
            Result(
                task_name,
                name,
                scheme,
                seed,
                alone=_scores(alone, slice(TRAINED)),
                within=_scores(whole, slice(TRAINED)),
                beyond=_scores(whole, slice(TRAINED, TESTED)),
                accuracy_by_place=tuple(scores.accuracy for scores in bins),
                loss_by_place=tuple(scores.loss for scores in bins),
            )
        )
    return scored


Job = tuple[str, str, int]
"""Task, scheme and seed."""


def job(given: Job) -> tuple[list[Result], float]:
    """Return the results of one model, and its CPU time in seconds."""
    start = time.process_time()
    return results(*given, Settings()), time.process_time() - start
