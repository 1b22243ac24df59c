"""Speak posenc protocol 1 for a program in Python: copy this file beside yours.

It needs NumPy, and ml-dtypes where bfloat16 is claimed. A whole program:

    import numpy as np
    from posenc_harness import claims, serve

    @claims("interleaved", dtype=["float32"])
    def rope(x, positions, base):
        ...

    serve("mylib", "1.0")

Functions have the names of the specification's calls. They receive the arguments, parameters and
conventions that their signature names, and return an array, a number or a list of these.
"""

import base64
import inspect
import json
import os
import sys

import numpy as np

DTYPES = {
    **{name: np.dtype(name).newbyteorder("<") for name in ("float64", "float32", "float16")},
    **{f"int{bits}": np.dtype(f"int{bits}").newbyteorder("<") for bits in (64, 32, 16, 8)},
    **{f"uint{bits}": np.dtype(f"uint{bits}").newbyteorder("<") for bits in (64, 32, 16, 8)},
    "bool": np.dtype(bool),
}
try:
    import ml_dtypes
except ImportError:
    pass
else:
    DTYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)

functions = {}
claimed = []


def claims(*combinations, dtype="float32", max_position=131071, **restrictions):
    """Declare for which conventions, dtypes and positions a function is right."""

    def declare(function):
        functions[function.__name__] = function
        claim = {"call": function.__name__, "combinations": combinations, "dtype": dtype}
        claimed.append({**claim, "max_position": max_position, "restrictions": restrictions})
        return function

    return declare


def serve(name, version=""):
    """Answer requests until the kit says goodbye or closes the input."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not mix with the answers
    description = {"protocol": 1, "name": name, "version": version, "claims": claimed}
    description["language"] = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    for line in incoming:
        request = json.loads(line)
        try:
            answer = {"id": request["id"], "result": _result(request, description)}
        except Exception as error:
            told = {"type": type(error).__name__, "message": str(error)}
            answer = {"id": request["id"], "error": told}
        sys.stdout.flush()
        outgoing.write(json.dumps(answer).encode() + b"\n")
        outgoing.flush()
        if request["request"] == "goodbye":
            break


def _result(request, description):
    if request["request"] == "describe":
        if request["protocol"] != 1:
            raise ValueError("this program speaks posenc protocol 1")
        return description
    if request["request"] == "goodbye":
        return None
    function = functions[request["call"]]
    arguments = {name: _received(value) for name, value in request["arguments"].items()}
    parameters = inspect.signature(function).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        arguments = {
            parameter.name: arguments[parameter.name]
            for parameter in parameters
            if parameter.name in arguments
        }
    return _sent(function(**arguments))


def _received(value):
    if not isinstance(value, dict):
        return value
    if value["dtype"] not in DTYPES:
        raise TypeError(f"{value['dtype']} needs the package ml-dtypes")
    data = bytearray(base64.b64decode(value["data"]))
    return np.frombuffer(data, DTYPES[value["dtype"]]).reshape(value["shape"])


def _sent(value):
    if isinstance(value, (list, tuple)):
        return [_sent(item) for item in value]
    if isinstance(value, (bool, int, float)):
        return value
    array = np.asarray(value)
    for name, dtype in DTYPES.items():
        if array.dtype.newbyteorder("<") == dtype:
            data = base64.b64encode(array.astype(dtype).tobytes()).decode()
            return {"dtype": name, "shape": array.shape, "data": data}
    raise TypeError(f"{array.dtype} cannot be sent")
