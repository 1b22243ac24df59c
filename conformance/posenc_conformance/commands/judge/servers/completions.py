"""An HTTP server for completions, for engines without a server."""

import json
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np

Reading = Mapping[str, float]
"""The log-probability of each word."""
Complete = Callable[[list[int], int], Sequence[Reading]]
"""A function that takes a prompt and the number of words to generate; returns their Readings."""


class Handler(BaseHTTPRequestHandler):
    """Answers requests with the results of ``complete``."""

    complete: Complete

    def do_POST(self) -> None:
        """Answer with the log-probabilities of all words at each step."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["prompt"]
        if not (isinstance(prompt, list) and all(isinstance(token, int) for token in prompt)):
            # One status of those that say that a form is not taken, not that something broke.
            self.reply(400, {"error": "prompt must be one list of token ids"})
            return
        try:
            read = type(self).complete(prompt, request["max_tokens"])
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            self.reply(500, {"error": str(error)})
        else:
            choice = {"text": "", "logprobs": {"top_logprobs": read}}
            self.reply(200, {"choices": [choice]})

    def reply(self, code: int, content: Any) -> None:
        """Send an answer."""
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Answer with the list of models."""
        self.reply(200, {"object": "list", "data": [{"id": "probe", "object": "model"}]})

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def serve(port: str, complete: Complete) -> None:
    """Answer requests at a local port, one after another."""
    Handler.complete = staticmethod(complete)
    HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


def words_of(folder: str) -> tuple[str, ...]:
    """Return the words of the probe in a folder, by token."""
    tokenizer = json.loads(Path(folder, "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    return tuple(sorted(vocabulary, key=vocabulary.__getitem__))


def log_probabilities(logits: Any, words: Sequence[str]) -> Reading:
    """Return the log-probability of each word."""
    exact = np.asarray(logits, dtype=np.float64)
    shifted = exact - exact.max()
    normalised = shifted - np.log(np.exp(shifted).sum())
    return dict(zip(words, map(float, normalised), strict=True))
