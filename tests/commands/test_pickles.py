"""Pickles that torch writes are read; nothing else in a pickle has any effect.

Attacks are read in a child process, so that damage to NumPy affects no other test.
"""

import json
import pickle
import pickletools
import subprocess
import sys
import zipfile
from collections import OrderedDict
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posenc_conformance.commands.identify.archives import TORCH, Allowance, torch_archive
from posenc_conformance.commands.identify.pickles import (
    NOTHING_TO_DO,
    PUSH_ARGUMENT,
    PUSH_NEW,
    STAND_INS,
    STEPS,
    Name,
    read_pickle,
)
from posenc_conformance.commands.identify.saved_arrays import read_tables
from posenc_conformance.errors import UserError

pytestmark = pytest.mark.remembered(shipped=True)

# State that sets a dtype's byte order, fields, size, alignment and flags.
DTYPE_STATE = b"(I3\nS'<'\nNNNI1\nI1\nI0\nt"
ATTRIBUTES = b"}S'__doc__'\nS'changed'\ns"
NAMES = [*STAND_INS, *(Name("torch", kind) for kind in TORCH)]
NAMED = {f"{entry.module}.{entry.name}": entry for entry in NAMES}


def global_of(name: Name) -> bytes:
    return f"c{name.module}\n{name.name}\n".encode()


def attacks() -> dict[str, bytes]:
    """Return pickles by title that set attributes on the object of a name, or call it."""
    pickles = {}
    for text, name in NAMED.items():
        given_out = global_of(name)
        pickles[f"{text} BUILD dtype"] = given_out + DTYPE_STATE + b"b."
        pickles[f"{text} BUILD attributes"] = given_out + ATTRIBUTES + b"b."
        pickles[f"{text} REDUCE"] = given_out + b"(S'a'\ntR."
        pickles[f"{text} NEWOBJ"] = given_out + b")\x81."
        pickles[f"{text} NEWOBJ_EX"] = given_out + b")}\x92."
        pickles[f"{text} OBJ"] = b"(" + given_out + b"o."
        pickles[f"{text} INST"] = f"(i{name.module}\n{name.name}\n.".encode()
        pickles[f"{text} as a storage"] = (
            b"(S'storage'\n" + given_out + b"S'0'\ntQ" + DTYPE_STATE + b"b."
        )
        pickles[f"{text} as a type"] = (
            b"ctorch._tensor\n_rebuild_from_type_v2\n(" + given_out + b"N(S'a'\ntNtR."
        )
    for module, attribute in [
        ("os", "system"),
        ("builtins", "eval"),
        ("ml_dtypes", "bfloat16"),
        ("numpy", "dtype"),
        ("torch._utils", "_rebuild_tensor_v2.__globals__"),
        ("posenc_conformance.errors", "UserError"),
    ]:
        pickles[f"{module}.{attribute}"] = global_of(Name(module, attribute)) + b"(S'true'\ntR."
        pickles[f"{module}.{attribute} from the stack"] = (
            f"S'{module}'\nS'{attribute}'\n".encode() + b"\x93(S'true'\ntR."
        )
    return pickles


ATTACKS = attacks()

CHILD = """
import json, sys
import ml_dtypes, numpy as np
from posenc_conformance.commands.identify.pickles import read_pickle
from posenc_conformance.errors import UserError

def state():
    small = np.dtype(ml_dtypes.bfloat16)
    parts = [str(small), small.itemsize, small.alignment, small.str, small.flags]
    rounded = str(np.arange(3, dtype=np.float32).astype(small))
    return [parts, rounded, np.dtype("<f4").itemsize, dict.__doc__, tuple.__doc__]

before = state()
for line in sys.stdin:
    try:
        read_pickle(bytes.fromhex(line))
        answer = "read"
    except (UserError, ValueError):
        answer = "refused"
    print(json.dumps([answer, state() == before]), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, bool]]:
    """Return by attack whether it was refused, and whether all dtypes are unchanged."""
    lines = "".join(f"{entry.hex()}\n" for entry in ATTACKS.values())
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=lines, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    return {name: tuple(entry) for name, entry in zip(ATTACKS, answers, strict=True)}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_refused_and_change_nothing(
    outcomes: dict[str, tuple[str, bool]], attack: str
) -> None:
    assert outcomes[attack] == ("refused", True)


def test_every_opcode_is_known_or_refused_by_name() -> None:
    handled = {*PUSH_ARGUMENT, *PUSH_NEW, *STEPS, *NOTHING_TO_DO}
    opcodes = {opcode.name: opcode for opcode in pickletools.opcodes}
    assert handled < set(opcodes)
    sizes = {pickletools.UP_TO_NEWLINE: b"0\n0\n", pickletools.TAKEN_FROM_ARGUMENT1: b"\x00"}
    for name in set(opcodes) - handled:
        argument = opcodes[name].arg
        body = b"" if argument is None else sizes.get(argument.n, bytes(8))
        with pytest.raises(UserError, match=rf"\b{name}\b"):
            read_pickle(b"(NN" + opcodes[name].code.encode("latin-1") + body + b".")


KEYS = st.text(max_size=4) | st.integers() | st.none() | st.booleans()
VALUES = st.recursive(
    KEYS | st.floats(allow_nan=False) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4).map(OrderedDict)
    ),
    max_leaves=20,
)

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Settings without time limits: a slow machine is no failure."""


@pytest.mark.slow
@UNTIMED
@given(VALUES, st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_plain_pickles_are_read_as_python_reads_them(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol)) == value


@UNTIMED
@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_pickle(data)
    except (UserError, ValueError):
        return


@pytest.fixture(scope="module")
def torch() -> Any:
    """Import torch here: it takes seconds, and every process collects all tests."""
    return import_module("torch")


def block(torch: Any) -> Any:
    """Return a module with parameters, one of them under two names, and a buffer."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 2))
    module.register_buffer("inv_freq", 1e4 ** -(torch.arange(8) / 8))
    module.tied = module[0].weight
    return module


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_checkpoints_of_torch_are_read(tmp_path: Path, torch: Any, protocol: int) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    module = block(torch)
    marked = torch.nn.Parameter(torch.ones(2))
    marked.note = "an attribute"
    saved = {
        "model": module.state_dict(),
        "weight": module.tied,
        "marked": marked,
        "buffer": torch.nn.Buffer(torch.arange(2.0)),
        "views": [base, base.T, base[1:, ::2]],
        "shape": base.shape,
        "small": base.to(torch.bfloat16),
        "whole": {"a": torch.arange(3), "b": (torch.tensor(True), 0.5, None)},
    }
    path = tmp_path / "checkpoint.pt"
    torch.save(saved, path, pickle_protocol=protocol)
    with path.open("rb") as stream:
        arrays = {name: read() for name, read in torch_archive(stream, Allowance()).items()}
    assert arrays["small"].dtype == ml_dtypes.bfloat16
    expected = {
        **{f"model.{name}": value for name, value in module.state_dict().items()},
        "weight": module.tied.detach(),
        "marked": marked.detach(),
        "buffer": torch.arange(2.0),
        **{f"views.{number}": view for number, view in enumerate(saved["views"])},
        "small": base,
        "whole.a": torch.arange(3),
        "whole.b.0": torch.tensor(True),
    }
    assert set(arrays) == set(expected)
    for name, tensor in expected.items():
        assert np.array_equal(arrays[name].astype(np.float64), tensor.numpy().astype(np.float64)), (
            name
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "pickled",
    [
        # Sixty lists, each of which holds the one before it ten times.
        b"]q\x00" + b"".join(b"](" + b"h%c" % n * 10 + b"eq%c" % (n + 1) for n in range(60)) + b".",
        # A tuple in a tuple, a million deep, as a key.
        b"})" + b"\x85" * 10**6 + b"Ns.",
    ],
)
def test_a_short_pickle_that_takes_forever_is_refused(tmp_path: Path, pickled: bytes) -> None:
    path = tmp_path / "deep.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
    with pytest.raises(UserError, match=r"deep\.pt"):
        list(read_tables(path))
