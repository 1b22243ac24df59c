"""The tasks that the models learn: random sequences, and the answer at each place.

Token ``SYMBOLS`` begins every sequence, so that a model without positional encoding can tell how
much it has read; the other tokens are uniform and independent. No token can therefore be guessed:
a model that is right more often than one in ``SYMBOLS`` has found the place that the task names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

SYMBOLS = 16
BACK = 3
SILENT = -1
"""Target at places without an answer."""


@dataclass(frozen=True)
class Task:
    """A question about every place of a sequence; some places have no answer."""

    name: str
    steps: int
    answers: Callable[[Tensor], Tensor]

    def draw(self, count: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return sequences and their answers (or SILENT), both of shape [count, length]."""
        tokens = torch.randint(0, SYMBOLS, (count, length), generator=generator)
        tokens[:, 0] = SYMBOLS
        return tokens, self.answers(tokens)


def followed_last_time(tokens: Tensor) -> Tensor:
    """Return the token after the most recent earlier occurrence of each token."""
    places = torch.arange(tokens.shape[1])
    same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
    last = torch.where(same, places, -1).amax(dim=2)
    following = tokens.gather(1, (last + 1).clamp(max=tokens.shape[1] - 1))
    return torch.where(last >= 0, following, SILENT)


def stood_before(tokens: Tensor) -> Tensor:
    """Return the token BACK places before each place."""
    answers = torch.full_like(tokens, SILENT)
    answers[:, BACK + 1 :] = tokens[:, 1:-BACK]  # the initial token is no answer
    return answers


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (Task("recall", 400, followed_last_time), Task("back", 200, stood_before))
}
