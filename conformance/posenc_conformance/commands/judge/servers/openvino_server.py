"""A completions server for OpenVINO: ``openvino_server.py MODEL PORT``."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino as ov
from completions import Reading, log_probabilities, serve, words_of

SETTINGS = {
    "INFERENCE_NUM_THREADS": 1,
    "INFERENCE_PRECISION_HINT": "f32",
    "KV_CACHE_PRECISION": "f32",
}

if __name__ == "__main__":
    folder, port = sys.argv[1:]
    words = words_of(folder)
    settings = {
        "INFERENCE_NUM_THREADS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
    }
    compiled = ov.Core().compile_model(str(Path(folder, "openvino_model.xml")), "CPU", settings)
    names = {name for tensor in compiled.inputs for name in tensor.names}
    request = compiled.create_infer_request()

    def complete(prompt: list[int], steps: int) -> Sequence[Reading]:
        """Generate greedily, with the model's state as its cache."""
        request.reset_state()
        read: list[Reading] = []
        tokens, past = prompt, 0
        for _ in range(steps):
            count = past + len(tokens)
            inputs = {
                "input_ids": np.array([tokens], dtype=np.int64),
                "attention_mask": np.ones((1, count), dtype=np.int64),
                "position_ids": np.arange(past, count, dtype=np.int64)[None],
                "beam_idx": np.zeros(1, dtype=np.int32),
            }
            request.infer({name: value for name, value in inputs.items() if name in names})
            logits = request.get_tensor("logits").data[0, -1]
            read.append(log_probabilities(logits, words))
            tokens, past = [int(logits.argmax())], count
        return read

    serve(port, complete)
