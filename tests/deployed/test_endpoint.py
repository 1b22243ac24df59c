"""Answers of an engine over HTTP: limited in size and time, and shown without secrets."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from time import sleep, time
from typing import Any

import pytest

from posenc_conformance.deployed.http import endpoint
from posenc_conformance.deployed.http.address import Address, Secrets
from posenc_conformance.deployed.http.client import KEY, Client, NoAnswer, Refused, TooLate
from posenc_conformance.deployed.http.endpoint import Endpoint, FormRefused, Gone, connect
from posenc_conformance.errors import UserError
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_lab.deployed.server import handled, talking

pytestmark = pytest.mark.remembered(shipped=True)

Send = Callable[[bytes], object]
SHORT = 0.5
"""Seconds that a test waits for an answer."""


def asked(speak: Callable[[Send], object], seconds: float = 30.0, more: str = "") -> Any:
    """Request the list of models from a server that responds through ``speak``."""
    with talking(lambda connection, _: speak(connection.sendall)) as url:
        return Client.of(f"{url}{more}", seconds).ask("models")


def saying(content: object, code: int = 200, head: str = "") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 {code} X\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def replying(content: bytes) -> AbstractContextManager[str]:
    """Run a server that sends ``content`` in response to every request."""
    return talking(lambda connection, _: connection.sendall(content))


def for_ever(piece: bytes, pause: float = 0.0) -> Callable[[Send], None]:
    """Return a function that sends ``piece`` repeatedly until the client disconnects."""

    def speak(send: Send) -> None:
        while True:
            send(piece)
            sleep(pause)

    return speak


def after(start: bytes, speak: Callable[[Send], object]) -> Callable[[Send], object]:
    def both(send: Send) -> object:
        send(start)
        return speak(send)

    return both


def silence(_: Send) -> None:
    threading.Event().wait(60)


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NEVER_ENDING = {
    "nothing": silence,
    "a status in drops": for_ever(b"H", 0.02),
    "a head in drops": after(OK, for_ever(b"X", 0.02)),
    "a head of many lines": after(OK, for_ever(b"X: y\r\n", 0.02)),
    "continue": for_ever(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "hints": for_ever(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "continue, slowly": for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
    "a head and nothing": after(OK + b"Content-Length: 9\r\n\r\n", silence),
    "a body in drops": after(OK + b"\r\n", for_ever(b" ", 0.02)),
    "chunks in drops": after(CHUNKED, for_ever(b"1\r\n \r\n", 0.02)),
    "a size in drops": after(CHUNKED, for_ever(b"0", 0.02)),
    "trailers": after(CHUNKED + b"0\r\n", for_ever(b"X: y\r\n", 0.02)),
    "an error's body that never comes": after(
        b"HTTP/1.1 400 Bad\r\nContent-Length: 9\r\n\r\n", silence
    ),
    "an error's body in drops": after(
        b"HTTP/1.1 500 Bad\r\nContent-Length: 9999\r\n\r\n", for_ever(b" ", 0.02)
    ),
}


@pytest.mark.parametrize("how", NEVER_ENDING)
def test_an_answer_that_never_ends_has_one_deadline(how: str) -> None:
    with pytest.raises(TooLate, match="--posenc-timeout"):
        asked(NEVER_ENDING[how], SHORT)


ODD = {
    "not HTTP": b"hello\r\n\r\n",
    "nothing": b"",
    "a status that is none": b"HTTP/1.1 abc OK\r\n\r\n",
    "a head that is too long": OK + b"X: " + b"y" * 2**17,
    "a body that breaks off": OK + b"Content-Length: 9\r\n\r\n12",
    "a chunk that breaks off": CHUNKED + b"20\r\nabc",
    "a chunk without a size": CHUNKED + b"zz\r\nabc",
    "a chunk of a huge size": CHUNKED + b"f" * 40 + b"\r\nabc",
}


@pytest.mark.parametrize("how", ODD)
def test_an_invalid_answer_is_one_message(how: str) -> None:
    with pytest.raises(NoAnswer, match="does not answer") as refused:
        asked(lambda send: send(ODD[how]))
    assert refused.value.hint


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[" * 100_000, b"[" + b"1," * 2**22 + b"1]", b'{"a": ' + b"9" * 5000]
)
def test_invalid_json_is_one_message(body: bytes) -> None:
    with pytest.raises(UserError, match="not JSON"):
        asked(lambda send: send(saying(body)))


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 9\r\n\r\nno",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n20\r\nabc",
        b"Content-Length: 2\r\n\r\nno",
        b"\r\nno",
        b"Content-Length: -1\r\n\r\nno",
    ],
)
def test_an_error_is_reported_even_with_a_damaged_body(body: bytes) -> None:
    with pytest.raises(Refused, match="answers 400 to /models") as refused:
        asked(lambda send: send(b"HTTP/1.1 400 Bad\r\n" + body))
    assert refused.value.status == 400


def test_a_right_answer_in_pieces_is_read() -> None:
    def speak(send: Send) -> None:
        send(b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        send(b"HTTP/1.1 103 Early Hints\r\nLink: y\r\n\r\n" + CHUNKED)
        for piece in (b'{"a"', b": ", b"[1, 2]}", b""):
            send(b"%x\r\n%b\r\n" % (len(piece), piece))
            sleep(0.02)

    assert asked(speak) == {"a": [1, 2]}


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_respected(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [
        saying({}, code, "Retry-After: 0\r\n"),
        saying({}, code, f"Retry-After: {formatdate(time(), usegmt=True)}\r\n"),
        saying({}, code, "Retry-After: soon\r\n"),
        saying([1]),
    ]
    with talking(lambda connection, _: connection.sendall(answers.pop(0))) as url:
        assert Client.of(url, 30.0).ask("models") == [1]
    assert capsys.readouterr().err.count("waiting") == 1


@pytest.mark.parametrize("wait", ["3600", "9" * 5000, "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_retry_after_is_limited_by_the_timeout(wait: str) -> None:
    answer = saying({"error": "slow down"}, 429, f"Retry-After: {wait}\r\n")
    with pytest.raises(Refused, match="slow down"):
        asked(lambda send: send(answer), 5.0)


# Addresses.


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http:///v1",
        "http://[::1/v1",
        "http://]/v1",
        "http://[zz]/v1",
        "http://℀.example/v1",
        "http://a..b/v1",
        f"http://{'a' * 70}.example/v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://me:PASS#WORD@host/v1",
        "http://me:PASS/WORD@host/v1",
        "http://host/v1 /PASSWORD",
        "http://host/v1\n/PASSWORD",
        "http://host/\x1bPASSWORD",
        "http://:80/v1",
    ],
)
def test_an_invalid_address_is_one_message_without_the_address(text: str) -> None:
    with pytest.raises(UserError) as refused:
        Address.parse(text)
    assert "--impl" in refused.value.cause
    assert "PASS" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "shown", "asked"),
    [
        ("http://host", "http://host/v1", "http://host/v1/models"),
        ("HTTP://Host:8000/", "http://host:8000/v1", "http://host:8000/v1/models"),
        ("http://[::1]:80/v1/", "http://[::1]:80/v1", "http://[::1]:80/v1/models"),
        ("https://h/v1/completions", "https://h/v1", "https://h/v1/models"),
        ("http://h/v1#a/b", "http://h/v1#a/b", "http://h/v1/models"),
        ("http://me:PASSWORD@h/v1", "http://***@h/v1", "http://h/v1/models"),
        ("http://TOKEN@h/v1", "http://***@h/v1", "http://h/v1/models"),
        ("http://h/SECRET/v1", "http://h/***/v1", "http://h/SECRET/v1/models"),
        ("http://h/ä/v1", "http://h/***/v1", "http://h/%C3%A4/v1/models"),
        ("http://h/v1?key=SECRET", "http://h/v1?key=***", "http://h/v1/models?key=SECRET"),
        ("http://h/v1?SECRET", "http://h/v1?***", "http://h/v1/models?SECRET"),
        ("http://bücher.example/v1", "http://xn--bcher-kva.example/v1", None),
    ],
)
def test_an_address_is_used_whole_and_shown_without_secrets(
    text: str, shown: str, asked: str | None
) -> None:
    address = Address.parse(text)
    assert str(address) == shown
    assert asked is None or address.url("models") == asked
    assert "SECRET" not in repr(address)
    assert "PASSWORD" not in repr(address)


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *((name, True) for name in ("localhost", "a.localhost", "127.0.0.9", "[::1]", "0.0.0.0")),
        *((name, False) for name in ("host", "10.0.0.1", "[fe80::1]", "localhost.example")),
    ],
)
def test_which_addresses_are_of_this_machine(host: str, here: bool) -> None:
    assert Address.parse(f"http://{host}/v1").is_here == here


# Keys.


def sent(url: str, monkeypatch: pytest.MonkeyPatch, key: str = "") -> bytes:
    """Return the request that a client of an address sends; ``{}`` stands for host and port."""
    requests: list[bytes] = []

    def speak(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(saying([]))

    monkeypatch.setenv(KEY, key)
    with talking(speak) as served:
        here = served.removeprefix("http://").removesuffix("/v1")
        Client.of(url.format(here), 30.0).ask("models")
    return requests[0]


@pytest.mark.parametrize("key", ["sk-1", "sk-1\n", " sk-1\r\n"])
def test_a_key_is_sent(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"Authorization: Bearer sk-1\r\n" in sent("http://{}/v1", monkeypatch, key)


def test_user_and_password_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    request = sent("http://me%40home:pass%2Fword@{}/v1?key=a", monkeypatch)
    assert request.startswith(b"GET /v1/models?key=a HTTP/1.1\r\n")
    assert b"Authorization: Basic bWVAaG9tZTpwYXNzL3dvcmQ=\r\n" in request


@pytest.mark.parametrize("key", ["sk\n1", "schlüssel", "sk\x001", "ключ"])
def test_a_key_that_cannot_be_sent_is_one_message(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {KEY: key})
    with pytest.raises(UserError, match=KEY) as refused:
        Client.of("http://127.0.0.1:9/v1", 1.0)
    assert key not in str(refused.value)


def test_one_of_two_keys_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-1")
    with pytest.raises(UserError, match=KEY):
        Client.of("http://me:password@127.0.0.1:9/v1", 1.0)


@pytest.mark.parametrize(
    ("url", "proxy", "said"),
    [
        ("http://127.0.0.1:9/v1", "http://p.example:1", []),
        ("https://far.example/v1", "http://p.example:1", []),
        ("http://far.example/v1", "", ["far.example", "unencrypted"]),
        ("http://far.example/v1", "http://u:SECRET@p.example:1", ["far.example", "p.example"]),
    ],
)
def test_readers_of_a_key_are_named_before_it_is_sent(
    url: str,
    proxy: str,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv(KEY, "sk-1")
    Client.of(url, 1.0)
    output = capsys.readouterr().err
    assert bool(output) == bool(said)
    assert all(words in output for words in said)
    assert "sk-1" not in output
    assert "SECRET" not in output


def test_requests_to_this_machine_use_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert sent("http://{}/v1", monkeypatch).startswith(b"GET /v1/models ")


SECRET = "sk-SECRET/+1"
ECHOES = {
    "a body": lambda key: saying({"error": f"no such key: {key}"}, 401),
    "a body that is cut": lambda key: saying(b"x" * 195 + key.encode(), 403),
    "a body, quoted": lambda key: saying(b"no%20key%20sk-SECRET%2F%2B1", 500),
    "a status": lambda key: f"HTTP/1.1 400 {key}\r\n\r\n".encode(),
    "a name": lambda key: saying({"data": [{"id": key}, {"id": "b"}]}),
    "no answer": lambda key: f"HTTP/{key}\r\n\r\n".encode(),
    "a page": lambda key: saying(key.encode()),
}


@pytest.mark.parametrize("how", ECHOES)
def test_an_echoed_key_is_not_shown(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    answer = ECHOES[how](SECRET)
    with replying(answer) as url, pytest.raises(UserError) as refused:
        connect(Client.of(url, 30.0))
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (("abcdefgh",), "xabcdefghx abcdefgh", "x***x ***"),
        (("none",), "none of them, nonetheless", "*** of them, nonetheless"),
        (("a",), "a layer", "a layer"),
        (("sk-Abcdef",), "SK-ABCDEF, sk-abcdef", "***, ***"),
        (("", "abcdefgh", "abcdefghijkl"), "abcdefghijkl", "***"),
        ((".*",), "anything", "anything"),
        ((), "anything", "anything"),
    ],
)
def test_secrets_are_replaced_and_nothing_else(
    secrets: tuple[str, ...], text: str, shown: str
) -> None:
    assert Secrets(secrets).hide(text) == shown


def test_a_redirection_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRET)
    asked_for: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.path)

    with handled(Elsewhere) as elsewhere:
        moved = saying(b"", 302, f"Location: {elsewhere}\r\n")
        with pytest.raises(Refused, match="302"):
            asked(lambda send: send(moved))
    assert not asked_for


# The meaning of answers.


@pytest.mark.parametrize("data", [4, "ab", {"id": "a"}, None, True, [4, "a"], []])
def test_an_invalid_list_of_models_is_one_message(data: object) -> None:
    with replying(saying({"data": data})) as url, pytest.raises(UserError, match="0 models"):
        connect(Client.of(url, 30.0))


def test_a_model_name_that_is_too_long_is_refused() -> None:
    listed, message = saying({"data": [{"id": "a" * 10**6}]}), "1,000,000 letters"
    with replying(listed) as url, pytest.raises(UserError, match=message):
        connect(Client.of(url, 30.0))


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
def test_an_invalid_context_length_is_ignored(more: dict[str, object], context: int | None) -> None:
    listed = saying({"data": [{"id": "a", **more}]})
    with replying(listed) as url:
        assert connect(Client.of(url, 30.0)).context == context


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {"content": 4},
        {"content": None},
        {"content": [{"top_logprobs": [{"token": 4, "logprob": 0}]}]},
        {"top_logprobs": [{"a": 10**400}]},
        {"top_logprobs": [{"a": "x"}]},
        {"top_logprobs": 4},
    ],
)
def test_log_probabilities_of_another_form_are_ignored(logprobs: object) -> None:
    assert endpoint._readings({"choices": [{"logprobs": logprobs}]}) == [[]]


@pytest.mark.parametrize(
    "more", [{"content": None, "tokens": ["a"]}, {"content": None}, {"token_logprobs": [None]}]
)
def test_fields_next_to_log_probabilities_are_ignored(more: dict[str, object]) -> None:
    logprobs = {"top_logprobs": [{"a": -0.5, "b": None}], **more}
    assert endpoint._readings({"choices": [{"logprobs": logprobs}]}) == [[{"a": -0.5}]]


def choice(word: str, **more: object) -> dict[str, object]:
    return {"logprobs": {"top_logprobs": [{word: -0.5}]}, **more}


@pytest.mark.parametrize("numbers", [(0, 1), (1, 2), (None, None), (0, 0), (-1, 0)])
def test_choices_come_in_the_order_of_their_numbers(numbers: tuple[int | None, ...]) -> None:
    choices = [choice("a", index=numbers[0]), choice("b", index=numbers[1])]
    in_order = [[{"a": -0.5}], [{"b": -0.5}]]
    assert endpoint._readings({"choices": choices}) == in_order
    if numbers[0] != numbers[1]:
        assert endpoint._readings({"choices": choices[::-1]}) == in_order


@pytest.mark.parametrize(
    "number", ["first", "0", True, 0.5, float("inf"), float("nan"), [0], {"a": 1}, 1e400]
)
def test_an_invalid_index_of_a_choice_is_one_message(number: object) -> None:
    with pytest.raises(Misbehaviour, match="numbered"):
        endpoint._readings({"choices": [choice("a", index=number), choice("b", index=1)]})


@pytest.mark.parametrize(
    ("word", "read"), [("\x1b[31m\na", "\\x1b[31m\\na"), ("a" * 300, "(300 letters)")]
)
def test_words_are_escaped_and_shortened(word: str, read: str) -> None:
    assert endpoint._readings({"choices": [choice(word)]}) == [[{read: -0.5}]]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, FormRefused) for code in (400, 413, 415, 422, 501)),
        *((code, Misbehaviour) for code in (401, 403, 404, 408, 500, 502, 504)),
    ],
)
def test_only_some_statuses_are_refusals_of_the_form(code: int, kind: type[Misbehaviour]) -> None:
    answer = saying({"error": "CUDA out of memory"}, code)
    with replying(answer) as url:
        served = Endpoint(Client.of(url, 30.0), "served", None)
        with pytest.raises(Misbehaviour, match="out of memory") as problem:
            served.read_together([[1], [2]], 1)
    assert type(problem.value) is kind


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, 1e300])
def test_impossible_log_probabilities_are_reported(value: float) -> None:
    listed = {"choices": [{"logprobs": {"top_logprobs": [{"a": -0.5, "b": value}]}}]}
    with replying(saying(listed)) as url, pytest.raises(Misbehaviour, match="log-probabilities"):
        Endpoint(Client.of(url, 30.0), "served", None).read([1], 1)


def test_a_server_that_does_not_answer_is_gone() -> None:
    with replying(b"") as url, pytest.raises(Gone):
        Endpoint(Client.of(url, 30.0), "served", None).read([1], 1)
