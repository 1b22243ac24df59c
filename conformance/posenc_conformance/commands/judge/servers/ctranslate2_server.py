"""A completions server for CTranslate2: ``ctranslate2_server.py MODEL PORT``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
from completions import Reading, log_probabilities, serve

if __name__ == "__main__":
    folder, port = sys.argv[1:]
    generator = ctranslate2.Generator(folder, device="cpu", compute_type="float32", intra_threads=1)
    words = tuple(json.loads(Path(folder, "vocabulary.json").read_text(encoding="utf-8")))

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily with ``Generator.generate_batch``."""
        (result,) = generator.generate_batch(
            [[words[token] for token in prompt]],
            max_length=steps,
            min_length=steps,
            sampling_topk=1,
            include_prompt_in_result=False,
            return_logits_vocab=True,
            return_scores=True,
        )
        return [log_probabilities(logits, words) for logits in result.logits[0]]

    serve(port, complete)
