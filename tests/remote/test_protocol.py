"""The page on the protocol agrees with programs, messages and the schema."""

import json
import re
import subprocess
import sys
from typing import Any

import fastjsonschema
import pytest

from posenc_conformance.remote import messages
from tests.building import CHECKOUT

PAGE = (CHECKOUT / "docs" / "protocol.md").read_text(encoding="utf-8")
SCHEMA = json.loads((CHECKOUT / "spec" / "protocol.schema.json").read_text(encoding="utf-8"))
LINES = re.findall(r"^(kit|program) +(\{.*\})$", PAGE, re.M)


def test_the_conversation_of_the_page_is_that_of_its_program() -> None:
    requests = [line for speaker, line in LINES if speaker == "kit"]
    answers = [line for speaker, line in LINES if speaker == "program"]
    done = subprocess.run(
        [sys.executable, CHECKOUT / "docs" / "examples" / "rotate.py"],
        input="".join(f"{line}\n" for line in requests),
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(requests) == 4
    assert done.stdout.splitlines() == answers


def test_the_conversation_of_the_page_has_the_form_of_the_schema() -> None:
    valid = fastjsonschema.compile(SCHEMA)
    for _, line in LINES:
        valid(json.loads(line))


ARRAY = {"dtype": "float32", "shape": [1], "data": "AACAPw=="}


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": None, "error": {"type": "E", "message": ""}},
        {"id": 0, "result": None},
        {"result": None},
        {"id": 1, "error": {"message": "no type"}},
        {"id": 1, "result": {**ARRAY, "dtype": "float8"}},
        {"id": 1, "result": {**ARRAY, "data": "AACAPw="}},
        {"id": 1, "result": {**ARRAY, "data": "AAC-Pw=="}},
        {"id": 1, "result": {**ARRAY, "shape": [-1]}},
        {"id": 1, "result": "1.0"},
        {"id": 1, "request": "call", "call": "rope"},
        {"id": 1, "request": "describe", "protocol": 2},
        {"id": 1, "request": "stop"},
    ],
    ids=lambda message: json.dumps(message)[:40],
)
def test_invalid_messages_violate_the_schema(message: Any) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        fastjsonschema.compile(SCHEMA)(message)


@pytest.mark.parametrize(
    ("message", "name"),
    [(messages.ProgramDescription, "description"), (messages.ProgramClaim, "claim")],
)
def test_types_of_messages_have_the_fields_of_the_schema(message: Any, name: str) -> None:
    schema = SCHEMA["definitions"][name]
    needed = set(schema["required"]) - {"protocol"}  # which only the schema checks
    assert message.__required_keys__ == needed
    assert message.__optional_keys__ == schema["properties"].keys() - set(schema["required"])


def test_the_type_of_an_error_has_the_fields_of_the_schema() -> None:
    schema: Any = SCHEMA["definitions"]["failure"]["properties"]["error"]
    typed: Any = messages.ProgramError
    assert typed.__required_keys__ == set(schema["required"]) == schema["properties"].keys()
