"""A completions server for IBM's Foundation Model Stack: ``fms_server.py PROBE PORT``."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from completions import Reading, log_probabilities, serve, words_of
from fms.models import get_model
from fms.utils.generation import generate

if __name__ == "__main__":
    folder, port = sys.argv[1:]
    torch.set_num_threads(1)
    words = words_of(folder)
    model = get_model(
        "hf_pretrained", model_path=folder, data_type=torch.float32, device_type="cpu"
    )
    model.eval()

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily with ``generate`` and its cache."""
        read: list[Reading] = []

        def seen(_: int, logits: Any, chosen: Any, more: Mapping[str, Any]) -> Any:
            """Record the log-probabilities of a step."""
            read.append(log_probabilities(logits[0], words))
            return chosen, more

        with torch.no_grad():
            generate(
                model,
                torch.tensor([prompt]),
                max_seq_len=len(prompt) + steps,
                max_new_tokens=steps,
                do_sample=False,
                use_cache=True,
                post_iteration_hook=seen,
            )
        return read

    serve(port, complete)
