"""What an engine answers over HTTP is read up to a size and a time, and must be small JSON."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from time import sleep

import pytest

from posenc_conformance.deployed import endpoint
from posenc_conformance.errors import UserError
from posenc_lab.deployed.server import handled

pytestmark = pytest.mark.remembered(shipped=True)

Write = Callable[[bytes], object]


def in_drops(write: Write) -> None:
    for _ in range(100):
        write(b" ")
        sleep(0.1)


ODD: dict[str, Callable[[Write], object]] = {
    "does not answer": in_drops,
    "not JSON": lambda write: write(b"<html>"),
    "JSON": lambda write: write(b"[" * 100_000),
    "no address": lambda write: write(b"[" + b"1," * 2**22 + b"1]"),
}


@contextmanager
def answering(act: Callable[[Write], object]) -> Iterator[str]:
    class Odd(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                act(self.wfile.write)
            except OSError:  # nobody listens any more
                return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with handled(Odd) as url:
        yield url


@pytest.mark.parametrize("said", ODD)
def test_an_odd_answer_is_one_message(said: str) -> None:
    with answering(ODD[said]) as url, pytest.raises(UserError, match=said) as refused:
        endpoint._ask(url, 1.0)
    assert refused.value.hint


def test_a_right_answer_in_pieces_is_read() -> None:
    def act(write: Write) -> None:
        for piece in (b'{"a"', b": ", b"[1, 2]}"):
            write(piece)
            sleep(0.02)

    with answering(act) as url:
        assert endpoint._ask(url, 30.0) == {"a": [1, 2]}


@pytest.mark.parametrize("data", [4, "ab", {"id": "a"}, None, True, [4, "a"], []])
def test_a_list_of_models_that_is_none_is_one_message(data: object) -> None:
    listed = json.dumps({"data": data}).encode()
    with answering(lambda write: write(listed)) as url, pytest.raises(UserError, match="0 models"):
        endpoint.connect(url, 30.0)


@pytest.mark.parametrize(
    ("more", "context"),
    [
        ({"max_model_len": 4096}, 4096),
        ({"meta": {"n_ctx": 512}}, 512),
        ({"meta": "large"}, None),
        ({"max_model_len": True}, None),
        ({"max_model_len": "4096"}, None),
        ({"meta": {"n_ctx": -1}}, None),
    ],
)
def test_a_length_that_is_none_is_not_believed(
    more: dict[str, object], context: int | None
) -> None:
    listed = json.dumps({"data": [{"id": "a", **more}]}).encode()
    with answering(lambda write: write(listed)) as url:
        assert endpoint.connect(url, 30.0).context == context


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {"content": 4},
        {"content": [{"top_logprobs": [{"token": 4, "logprob": 0}]}]},
        {"top_logprobs": [{"a": 10**400}]},
        {"top_logprobs": [{"a": "x"}]},
        {"top_logprobs": 4},
    ],
)
def test_log_probabilities_of_another_form_are_none(logprobs: object) -> None:
    assert endpoint._readings({"choices": [{"logprobs": logprobs}]}) == [[]]
