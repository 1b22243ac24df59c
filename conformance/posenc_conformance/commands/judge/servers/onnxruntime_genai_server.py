"""A completions server for ONNX Runtime GenAI: ``onnxruntime_genai_server.py MODEL PORT``."""

import json
import sys
from collections.abc import Sequence

import onnxruntime_genai as genai
from completions import Reading, log_probabilities, serve, words_of

ONE_THREAD = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}

if __name__ == "__main__":
    folder, port = sys.argv[1:]
    words = words_of(folder)
    settings = genai.Config(folder)
    settings.overlay(json.dumps({"model": {"decoder": {"session_options": ONE_THREAD}}}))
    model = genai.Model(settings)

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily with ``Generator`` and its cache."""
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(max_length=len(prompt) + steps, do_sample=False)
        generator = genai.Generator(model, parameters)
        generator.append_tokens(prompt)
        read = []
        for _ in range(steps):
            logits = generator.get_logits().reshape(-1, len(words))[-1]
            read.append(log_probabilities(logits, words))
            generator.generate_next_token()
        return read

    serve(port, complete)
