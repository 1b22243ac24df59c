"""A program that returns correct ALiBi slopes, unless a file mischief.py exists.

The code in mischief.py runs once, instead of the answer to the next call; the code in
description.py runs before the program describes itself.
"""

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any

MISCHIEF = Path("mischief.py")
DESCRIPTION: Any = {
    "protocol": 1,
    "name": "odd",
    "version": "1",
    "language": "Python",
    "claims": [{"call": "alibi_slopes", "dtype": "float64"}],
}


def say(message: object) -> None:
    """Send a message."""
    print(json.dumps(message), flush=True)


def raw(line: str | bytes) -> None:
    """Send a line, valid or not."""
    sys.stdout.buffer.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
    sys.stdout.flush()


def right(heads: int = 8, **changed: object) -> dict[str, Any]:
    """Return the right result, with changed fields if given."""
    slopes = [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]
    data = base64.b64encode(struct.pack(f"<{heads}d", *slopes)).decode()
    return {"dtype": "float64", "shape": [heads], "data": data, **changed}


def eight(value: float) -> dict[str, Any]:
    """Return a result of eight equal numbers."""
    return right(data=base64.b64encode(struct.pack("<8d", *[value] * 8)).decode())


def zeros(size: int) -> str:
    """Return ``size`` zero bytes in base64."""
    return base64.b64encode(bytes(size)).decode()


def main() -> None:
    """Answer requests until goodbye."""
    for line in sys.stdin:
        asked = json.loads(line)

        def answer(result: object, asked: Any = asked) -> None:
            say({"id": asked["id"], "result": result})

        def fail(error: object, asked: Any = asked) -> None:
            say({"id": asked["id"], "error": error})

        named = {**globals(), "asked": asked, "answer": answer, "fail": fail}
        if asked["request"] == "describe":
            described = Path("description.py")
            exec(described.read_text() if described.exists() else "", named)
            answer(DESCRIPTION)
        elif asked["request"] == "goodbye":
            answer(None)
            break
        elif MISCHIEF.exists():
            mischief = MISCHIEF.read_text()
            MISCHIEF.unlink()
            exec(mischief, named)
        else:
            answer(right(asked["arguments"]["heads"]))


if __name__ == "__main__":
    main()
