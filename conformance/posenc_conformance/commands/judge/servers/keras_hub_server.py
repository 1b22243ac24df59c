"""A completions server for KerasHub: ``keras_hub_server.py PROBE PORT``."""

import sys
from collections.abc import Sequence
from typing import Any

import keras_hub
import numpy as np
from completions import Reading, log_probabilities, serve, words_of


class Recorded(keras_hub.samplers.GreedySampler):  # type: ignore[misc]
    """A greedy sampler that records the probabilities of all words."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def get_next_token(self, probabilities: Any) -> Any:
        """Record the probabilities of all words, and return the likeliest word."""
        self.seen.append(probabilities.detach().numpy()[0])
        return super().get_next_token(probabilities)


if __name__ == "__main__":
    folder, port = sys.argv[1:]
    words = words_of(folder)
    task = keras_hub.models.CausalLM.from_preset(folder, preprocessor=None, dtype="float32")

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily with ``CausalLM.generate`` and its cache."""
        sampler = Recorded()
        task.compile(sampler=sampler)
        tokens = np.array([prompt + [0] * steps])
        is_prompt = np.arange(tokens.shape[1])[None] < len(prompt)
        task.generate({"token_ids": tokens, "padding_mask": is_prompt}, stop_token_ids=None)
        with np.errstate(divide="ignore"):
            return [log_probabilities(np.log(row), words) for row in sampler.seen]

    serve(port, complete)
