"""Random changes of bytes and documents."""

import copy
import re
from collections.abc import Sequence
from random import Random
from typing import Any

MOST = 2**20
"""Largest size of an input in bytes; larger ones cost time and find nothing more."""
NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"1e999",
    b"-0.0",
    b"1e308",
    b"5e-324",
    b"NaN",
    b"Infinity",
    b"2147483648",
    b"18446744073709551616",
    b"9" * 400,
    b"9" * 5000,
)
WORDS = (
    *NUMBERS,
    b" " * 2000,
    b"\n" * 500,
    b"[" * 2000,
    b"{" * 500,
    b'{"a":' * 500,
    b"\x00",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"true",
    b"null",
    b"'",
    b'"',
    b"]",
    b"}",
    b",",
    b":",
    b"&a",
    b"*a",
    b"<<: ",
    b"!!int ",
    b"- ",
)
BORDERS = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
SIZES = (0, 1, 2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def mutated(random: Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Return bytes with a few changes."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        _change(random, changed, others)
    return bytes(changed[:MOST])


def _change(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    place = random.randrange(len(content) + 1)
    end = min(len(content), place + random.choice((1, 2, 4, 8, 64, 4096)))
    how = random.randrange(9)
    if how == 0 and place < len(content):
        content[place] ^= 1 << random.randrange(8)
    elif how == 1 and place < len(content):
        content[place] = random.choice(BORDERS)
    elif how == 2:
        del content[place:end]
    elif how == 3:
        content[place:place] = content[place:end] * random.choice((1, 2, 50))
    elif how == 4:
        content[place:place] = random.choice(WORDS)
    elif how == 5:
        del content[place:]
    elif how == 6 and others:
        other = random.choice(others)
        start = random.randrange(len(other) + 1)
        content[place:end] = other[start : start + random.choice((4, 64, 4096))]
    elif how == 7:
        _change_number(random, content)
    else:
        width = random.choice((2, 4, 8))
        size = random.choice(SIZES) % 2 ** (8 * width)
        content[place : place + width] = size.to_bytes(width, "little")


def _change_number(random: Random, content: bytearray) -> None:
    numbers = list(NUMBER.finditer(content))
    if numbers:
        number = random.choice(numbers)
        content[number.start() : number.end()] = random.choice(NUMBERS)


def deep(levels: int) -> Any:
    """Return lists nested ``levels`` deep."""
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    return nested


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 0.5, -0.0, 1.5, 1e308, 5e-324, float("nan")),
    *(float("inf"), -float("inf"), 2**31, 2**32 - 1, 2**63, 10**30, 10**400),
    *("", "x", "1", "infinite", "\x1b[31m\n", "\ud800", "a" * 10**5, "full_attention"),
    *([], [1], [[1]], ["x"], [0.5] * 64, [1] * 5000, {}, {"a": 1}, {"x" * 10**4: None}),
    *(deep(40), deep(300)),
)


def mutated_document(random: Random, document: Any, names: Sequence[str] = ()) -> Any:
    """Return a document of dictionaries, lists and scalars with a few changes.

    ``names`` are keys to add.
    """
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            return _value(random)
        inside, key = random.choice(places)
        how = random.randrange(6)
        if how < 3:
            inside[key] = _value(random)
        elif how == 3:
            del inside[key]
        elif how == 4:
            other, place = random.choice(places)
            inside[key] = copy.deepcopy(other[place])
        elif isinstance(inside, dict):
            name = random.choice([*names, "\x1b[31m\r\n", "odd" * 10**4, ""])
            inside[name] = _value(random)
        else:
            inside.append(_value(random))
    return document


def _value(random: Random) -> Any:
    return copy.deepcopy(random.choice(VALUES))


def _places(part: Any) -> Any:
    if isinstance(part, dict | list):
        for key in part if isinstance(part, dict) else range(len(part)):
            yield part, key
            yield from _places(part[key])
