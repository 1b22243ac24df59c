"""CTranslate2 behind an address, as completions are asked for: give it MODEL and PORT."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np


class Handler(BaseHTTPRequestHandler):
    """Answers requests for completions with what ``Generator.generate_batch`` writes greedily."""

    generator: Any
    words: tuple[str, ...]

    def do_POST(self) -> None:
        """Answer with the log-probabilities of all words at each step."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            self.reply(200, self.complete(asked["prompt"], asked["max_tokens"]))
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            self.reply(500, {"error": str(error)})

    def complete(self, prompt: list[int], steps: int) -> dict[str, Any]:
        """Write words behind a prompt."""
        (found,) = self.generator.generate_batch(
            [[self.words[token] for token in prompt]],
            max_length=steps,
            min_length=steps,
            sampling_topk=1,
            include_prompt_in_result=False,
            return_logits_vocab=True,
            return_scores=True,
        )
        read = [self.log_probabilities(np.array(each)) for each in found.logits[0]]
        return {"choices": [{"text": "", "logprobs": {"top_logprobs": read}}]}

    def log_probabilities(self, logits: Any) -> dict[str, float]:
        """Return the log-probability of each word."""
        exact = logits.astype(np.float64)
        shifted = exact - exact.max()
        found = shifted - np.log(np.exp(shifted).sum())
        return dict(zip(self.words, map(float, found), strict=True))

    def reply(self, code: int, content: Any) -> None:
        """Send an answer."""
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Answer what models there are."""
        self.reply(200, {"object": "list", "data": [{"id": "probe", "object": "model"}]})

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


if __name__ == "__main__":
    folder, port = sys.argv[1:]
    Handler.generator = ctranslate2.Generator(
        folder, device="cpu", compute_type="float32", intra_threads=1
    )
    Handler.words = tuple(json.loads(Path(folder, "vocabulary.json").read_text(encoding="utf-8")))
    HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
