"""An HTTP server for the small engine, with OpenAI's completions API."""

import json
import math
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

from posenc_lab.deployed.engine import Engine


@contextmanager
def serving(engine: Engine, **behaviour: Any) -> Iterator[str]:
    """Serve an engine while the context lasts; yield the address.

    ``behaviour`` are attributes of the handler that configure this server.
    """
    with handled(type("Served", (Handler,), {"engine": engine, **behaviour})) as url:
        yield url


@contextmanager
def talking(speak: Callable[[socket.socket, bytes], object]) -> Iterator[str]:
    """Answer each request with a function; yield the address.

    The function receives the connection and the bytes of the request.
    """

    class Raw(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the client has closed the connection
                speak(self.request, _request(self.request))

    class Server(ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Raw) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()


def _request(connection: socket.socket) -> bytes:
    """Read a request, up to its declared length."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = connection.recv(2**16)
        if not piece:
            return read
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    while length and len(body) < int(length[1]) and (piece := connection.recv(2**16)):
        body += piece
    return head + b"\r\n\r\n" + body


@contextmanager
def handled(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with a handler while the context lasts; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers requests for models and completions."""

    engine: Engine
    listed: Any = ({"id": "served", "object": "model"},)
    """The models that the server lists."""
    words_only = False
    """Whether prompts must be text, not tokens."""
    legacy = False
    """Whether log-probabilities are sent as mappings, in the legacy format."""
    silent = False
    """Whether log-probabilities are left out."""
    as_chat = False
    """Whether log-probabilities must be requested as in the chat API."""
    elsewhere = ""
    """Address to which completion requests are redirected; empty if answered here."""
    longest = 1 << 30
    """Maximum length of prompt and completion in tokens."""
    best = 10
    """Number of likeliest words in the answer."""
    one_text = False
    """Whether a request may have only one prompt."""
    loading = 0
    """Number of requests answered with "still loading"; -1 for all."""
    key = ""
    """The API key that a request must carry; empty for none."""
    answers = 1 << 30
    """Number of completions before the server breaks."""
    breaks = "dies"
    """How the server breaks after these completions."""
    several = ""
    """How the server breaks on a request with several prompts; empty if it doesn't."""

    def do_GET(self) -> None:
        """Answer with the list of models."""
        if self.admitted():
            self.reply(200, {"object": "list", "data": self.listed})

    def do_POST(self) -> None:
        """Answer a request for a completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.admitted():
            return
        type(self).answers -= 1
        if self.answers < 0:
            self.broken(request)
            return
        if self.elsewhere:
            self.send_response(307)
            self.send_header("Location", self.elsewhere)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.as_chat != isinstance(request["logprobs"], bool):
            self.reply(400, {"error": "logprobs must be of another type"})
            return
        prompts = request["prompt"]
        several = isinstance(prompts, list) and isinstance(prompts[0], list | str)
        if several and self.one_text:
            self.reply(400, {"error": "prompt must be one text"})
            return
        if several and self.several and self.several not in ("turned", "first"):
            self.breaks = self.several
            self.broken(request)
            return
        prompts = prompts if several else [prompts]
        if self.words_only and not isinstance(prompts[0], str):
            self.reply(422, {"error": "prompt must be a string"})
            return
        tokens = [self.numbers(prompt) for prompt in prompts]
        steps = min(request["max_tokens"], self.longest - max(map(len, tokens)))
        answers = [*self.engine.complete_all(tokens, steps)]
        if several and self.several:
            answers = answers[:1] if self.several == "first" else answers[::-1]
        choices = [
            {"index": number, "text": "", "logprobs": self.form(readings)}
            for number, readings in enumerate(answers)
        ]
        self.reply(200, {"choices": choices[::-1]})

    def broken(self, asked: Any) -> None:
        """Answer like a broken engine."""
        words = [{"token": word, "logprob": math.nan} for word in self.engine.words[:8]]
        steps = [{"top_logprobs": words}] * asked["max_tokens"]
        contents: dict[str, Any] = {
            "html": b"<html><h1>502 Bad Gateway</h1></html>",
            "nothing": b"",
            "empty": {"choices": []},
            "nan": {"choices": [{"index": 0, "logprobs": {"content": steps}}]},
        }
        if self.breaks == "hangs":
            self.rfile.read(1)  # returns when the client gives up
        if self.breaks == "no memory":
            self.reply(500, {"error": "CUDA out of memory"})
        if self.breaks in contents:
            self.reply(200, contents[self.breaks])
        self.close_connection = True

    def numbers(self, prompt: Any) -> list[int]:
        """Return the tokens of a prompt."""
        if isinstance(prompt, str):
            return [self.engine.words.index(word) for word in prompt.split()]
        return list(prompt)

    def form(self, found: list[dict[str, float]]) -> Any:
        """Return log-probabilities in this server's format."""
        found = [dict([*step.items()][: self.best]) for step in found]
        if self.silent:
            return None
        if self.legacy:
            return {"top_logprobs": [{f" {w}": v for w, v in step.items()} for step in found]}
        return {
            "content": [
                {"top_logprobs": [{"token": f" {w}", "logprob": v} for w, v in step.items()]}
                for step in found
            ]
        }

    def admitted(self) -> bool:
        """Return whether the engine is ready and the request carries the key; else refuse it."""
        if self.loading:
            type(self).loading -= self.loading > 0
            self.reply(503, {"error": "Loading model"})
            return False
        if self.key and self.headers["Authorization"] != f"Bearer {self.key}":
            self.reply(401, {"error": "no such key"})
            return False
        return True

    def reply(self, code: int, content: Any) -> None:
        """Send an answer."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
