"""What the models learn: sequences drawn at random, and what is to be said at each place.

Token ``SYMBOLS`` begins every sequence, so that a model without positional encoding can tell how
much it has read; the others are drawn evenly and independently. Nothing of a sequence can therefore
be guessed: whoever does better than one in ``SYMBOLS`` found the place that the task names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

SYMBOLS = 16
BACK = 3
SILENT = -1
"""Target where nothing is asked."""


@dataclass(frozen=True)
class Task:
    """A question that is asked at every place of a sequence that has an answer."""

    name: str
    steps: int
    answers: Callable[[Tensor], Tensor]

    def draw(self, count: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Sequences, and the right answers or SILENT, both of shape [count, length]."""
        tokens = torch.randint(0, SYMBOLS, (count, length), generator=generator)
        tokens[:, 0] = SYMBOLS
        return tokens, self.answers(tokens)


def followed_last_time(tokens: Tensor) -> Tensor:
    """The token that followed the present one where it stood most recently."""
    places = torch.arange(tokens.shape[1])
    same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
    last = torch.where(same, places, -1).amax(dim=2)
    found = tokens.gather(1, (last + 1).clamp(max=tokens.shape[1] - 1))
    return torch.where(last >= 0, found, SILENT)


def stood_before(tokens: Tensor) -> Tensor:
    """The token that stands BACK places before."""
    answers = torch.full_like(tokens, SILENT)
    answers[:, BACK + 1 :] = tokens[:, 1:-BACK]  # the token that begins a sequence is no answer
    return answers


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (Task("recall", 400, followed_last_time), Task("back", 200, stood_before))
}
