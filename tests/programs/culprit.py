"""A program that answers alibi_slopes correctly, except while there is a file mischief.py.

The file is executed once, in place of the answer to the next call.
"""

import base64
import json
import struct
import sys
from pathlib import Path

MISCHIEF = Path("mischief.py")
DESCRIPTION = {
    "protocol": 1,
    "name": "culprit",
    "version": "3",
    "language": "Python",
    "claims": [{"call": "alibi_slopes", "dtype": "float64"}],
}


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def right(heads: int) -> object:
    slopes = [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]
    data = base64.b64encode(struct.pack(f"<{heads}d", *slopes)).decode()
    return {"dtype": "float64", "shape": [heads], "data": data}


for line in sys.stdin:
    asked = json.loads(line)
    if asked["request"] == "describe":
        exec(Path("description.py").read_text() if Path("description.py").exists() else "")
        say({"id": asked["id"], "result": DESCRIPTION})
    elif asked["request"] == "goodbye":
        say({"id": asked["id"], "result": None})
        break
    elif MISCHIEF.exists():
        mischief = MISCHIEF.read_text()
        MISCHIEF.unlink()
        exec(mischief)
    else:
        say({"id": asked["id"], "result": right(asked["arguments"]["heads"])})
