"""A whole program that speaks posenc protocol 1: RoPE of neighbouring channels, in plain Python."""

import base64
import json
import math
import struct
import sys

DESCRIPTION = {
    "protocol": 1,
    "name": "rotate",
    "version": "1.0",
    "language": "Python",
    "claims": [{"call": "rope", "combinations": ["interleaved"], "dtype": "float64"}],
}
LETTERS = {"float64": "d", "int64": "q"}


def decoded(array):
    data = base64.b64decode(array["data"])
    return struct.unpack(f"<{math.prod(array['shape'])}{LETTERS[array['dtype']]}", data)


def rope(x, positions, base):
    *_, rows, dim = x["shape"]
    if dim % 2:
        raise ValueError(f"{dim} channels are not pairs")
    values, where, turned = decoded(x), decoded(positions), []
    for first in range(0, len(values), 2):
        a, b = values[first : first + 2]
        angle = where[first // dim % rows] * base ** (-(first % dim) / dim)
        turned += [a * math.cos(angle) - b * math.sin(angle)]
        turned += [a * math.sin(angle) + b * math.cos(angle)]
    data = base64.b64encode(struct.pack(f"<{len(turned)}d", *turned)).decode()
    return {"dtype": "float64", "shape": x["shape"], "data": data}


def answer(asked):
    if asked["request"] == "describe":
        return DESCRIPTION
    if asked["request"] == "goodbye":
        return None
    given = asked["arguments"]
    return rope(given["x"], given["positions"], given["base"])


for line in sys.stdin:
    asked = json.loads(line)
    try:
        said = {"id": asked["id"], "result": answer(asked)}
    except Exception as error:
        said = {"id": asked["id"], "error": {"type": type(error).__name__, "message": str(error)}}
    print(json.dumps(said), flush=True)
    if asked["request"] == "goodbye":
        break
