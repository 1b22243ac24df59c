"""Encode vectors as lines of words and numbers, for programs without any library."""

from collections.abc import Iterator

from posenc_conformance.commands.export.vectors import (
    FORMAT,
    MARK,
    WHOLE,
    Tensor,
    Vector,
    Vectors,
)


def to_text(vectors: Vectors) -> bytes:
    """Encode vectors as lines of words.

    The first word of a line says what follows, and ``end`` ends a case.
    """
    return "".join(f"{line}\n" for line in _lines(vectors)).encode()


def _lines(vectors: Vectors) -> Iterator[str]:
    yield f"{MARK} {FORMAT}"
    yield f"scheme {vectors.scheme}"
    yield f"dtype {vectors.dtype}"
    yield f"note {vectors.note}"
    for vector in vectors.cases:
        yield ""
        yield f"case {vector.id}"
        yield f"call {vector.call}"
        yield f"combination {vector.combination}"
        yield from (f"convention {name} {value}" for name, value in vector.conventions.items())
        yield from (f"comment {vector.comment}",) if vector.comment else ()
        yield from (f"kills {name}" for name in vector.kills)
        yield from (f"kills-some {name}" for name in vector.kills_some)
        for name, value in vector.arguments.items():
            yield _argument_line(name, value)
        yield _joined("shape", len(vector.shape), *vector.shape)
        for element in vector.elements:
            yield _joined("element", *element)
        yield "end"


def _argument_line(name: str, value: Tensor | int | float) -> str:
    if not isinstance(value, Tensor):
        return _joined("integer" if isinstance(value, int) else "real", name, value)
    word = "bits" if value.dtype == "bfloat16" else "array"
    return _joined(word, name, value.dtype, len(value.shape), *value.shape, *value.values)


def _joined(*words: object) -> str:
    return " ".join(map(str, words))


def of_text(content: bytes) -> Vectors:
    """Decode the vectors in a text.

    They have no descriptions of calls, conventions and deviations.

    Raises ValueError for any other text.
    """
    lines = [line.partition(" ") for line in content.decode().splitlines() if line]
    if [line[0] for line in lines[:4]] != [MARK, "scheme", "dtype", "note"]:
        raise ValueError("it does not begin as an exported text does")
    version, scheme, dtype, note = (line[2] for line in lines[:4])
    if version != str(FORMAT):
        raise ValueError(f"it is not of format {FORMAT}")
    cases: list[Vector] = []
    facts: list[tuple[str, str]] = []
    for word, _, value in lines[4:]:
        if word == "end":
            cases.append(_of_facts(facts, dtype))
            facts = []
        else:
            facts.append((word, value))
    if facts:
        raise ValueError("it ends within a case")
    return Vectors(scheme, dtype, {}, tuple(cases), note)


def _of_facts(facts: list[tuple[str, str]], dtype: str) -> Vector:
    number = int if dtype in WHOLE else float
    fields = dict(facts)
    arguments: dict[str, Tensor | int | float] = {}
    elements = []
    for word, value in facts:
        words = value.split()
        if word in ("integer", "real"):
            arguments[words[0]] = int(words[1]) if word == "integer" else float(words[1])
        elif word in ("array", "bits"):
            arguments[words[0]] = _of_words(words[1], words[2:])
        elif word == "element":
            elements.append((int(words[0]), number(words[1]), number(words[2])))
    return Vector(
        id=fields["case"],
        call=fields["call"],
        combination=fields["combination"],
        conventions=dict(value.split(" ") for word, value in facts if word == "convention"),
        comment=fields.get("comment", ""),
        kills=tuple(value for word, value in facts if word == "kills"),
        kills_some=tuple(value for word, value in facts if word == "kills-some"),
        arguments=arguments,
        shape=tuple(map(int, fields["shape"].split()[1:])),
        elements=tuple(elements),
    )


def _of_words(dtype: str, words: list[str]) -> Tensor:
    axes = int(words[0])
    shape, values = words[1 : 1 + axes], words[1 + axes :]
    number = float if dtype.startswith("float") else int
    return Tensor(dtype, tuple(map(int, shape)), tuple(map(number, values)))
