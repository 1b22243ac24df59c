"""Write Python code that repeats calls, with only NumPy and an implementation."""

import base64
import keyword
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

import numpy as np

from posenc_conformance.commands.repro.record import Given, Made
from posenc_conformance.judge.arrays import Array, dtype_name

SHORT = 400
"""Arrays with more elements than this are written compressed."""
FEW = 8
"""Evenly spaced integers are written as a range if there are more than this."""

WIDTH = 80

STRIDED = '''
def strided(array, *strides):
    """The same values in memory with these strides, which count elements."""
    last = sum((n - 1) * step for n, step in zip(array.shape, strides))
    memory = np.zeros(last + 1, dtype=array.dtype)
    steps = [step * array.itemsize for step in strides]
    view = np.lib.stride_tricks.as_strided(memory, array.shape, steps)
    view[...] = array
    return view
'''
READ_ONLY = """
def read_only(array):
    array.flags.writeable = False
    return array
"""
FORMED = {
    "plain": "{}",
    "strided": "strided({}, *{})",
    "read-only": "read_only({})",
    "column-major": "np.asfortranarray({})",
}
PLAIN = """
def plain(result):
    return np.asarray(result)
"""
FROM_DLPACK = """
def plain(result):
    return np.from_dlpack(result)
"""
FROM_TORCH = """
def plain(result):
    result = result.detach().cpu().contiguous()
    if result.dtype == torch.bfloat16:  # which NumPy itself does not have
        return result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return result.numpy()
"""
FROM_ANY = """
def plain(result):
    if not hasattr(result, "detach"):
        is_plain = hasattr(result, "__array__") or not hasattr(result, "__dlpack__")
        return np.asarray(result) if is_plain else np.from_dlpack(result)
    import ml_dtypes
    import torch
    result = result.detach().cpu().contiguous()
    if result.dtype == torch.bfloat16:  # which NumPy itself does not have
        return result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return result.numpy()
"""


class Script:
    """The lines of a script, with the imports and helpers that they need."""

    def __init__(self, comments: list[str], result: object, *, is_apart: bool = False) -> None:
        """Begin a script with comments; a result from another process does not show its type."""
        self.lines: list[str] = []
        self.adapter = ""
        """The expression that calls the method."""
        self._comments = comments
        self._imports = {"import numpy as np"}
        self._helpers: dict[str, None] = {}
        self._functions: dict[str, str] = {}
        self._searched: list[str] = []
        self._loading: list[str] = []
        self._plain = FROM_ANY if is_apart else self._converting(result)

    def _converting(self, result: object) -> str:
        """Return the helper that converts a result to an array, just as the kit does."""
        if type(result).__module__.partition(".")[0] == "torch" and hasattr(result, "detach"):
            self._imports |= {"import torch", "import ml_dtypes"}
            return FROM_TORCH
        if not hasattr(result, "__array__") and hasattr(result, "__dlpack__"):
            return FROM_DLPACK
        return PLAIN

    @property
    def text(self) -> str:
        """The whole script."""
        body = "\n".join(self.lines)
        helpers = [*self._helpers, *([self._plain] if "plain(" in body else [])]
        parts = [
            "\n".join(f"# {line}" for line in self._comments),
            "\n".join(sorted(self._imports)) + "\n",
            *(["\n".join([*self._searched, *self._loading]) + "\n"] if self._loading else []),
            *helpers,
            *(f"\ndef {name}():\n{body}\n" for body, name in self._functions.items()),
            *([""] if helpers or self._functions else []),
            body,
        ]
        return "\n".join(parts)

    def search(self, folders: Sequence[str]) -> None:
        """Write a line that puts folders first on the search path of modules."""
        if folders:
            self._imports.add("import sys")
            self._searched = [f"sys.path[:0] = {[*folders]!r}"]

    def load_file(self, path: Path) -> str:
        """Write lines that load an adapter's file as the kit does; return the module's name."""
        self._imports |= {"import importlib.util", "import sys"}
        self._loading = [
            f"sys.path.append({str(path.parent)!r})",
            f"spec = importlib.util.spec_from_file_location({path.stem!r}, {str(path)!r})",
            "module = importlib.util.module_from_spec(spec)",
            "sys.modules[spec.name] = module",
            "spec.loader.exec_module(module)",
        ]
        return "module"

    def load_text(self, text: str, folder: Path) -> str:
        """Write the text of an adapter that is in no file; return the name of its module."""
        self._imports |= {"import sys", "import types"}
        self._loading = [
            f"sys.path.insert(0, {str(folder)!r})",
            'module = types.ModuleType("adapter")',
            f"exec(r'''\n{text}''', vars(module))",
        ]
        return "module"

    def load_module(self, name: str, folder: Path | None) -> str:
        """Write lines that import an adapter's module, from ``folder`` if given.

        Returns the module's name.
        """
        if folder:
            self._imports.add("import sys")
            self._loading = [f"sys.path.insert(0, {str(folder)!r})"]
        if all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
            self._loading.append(f"import {name} as module")
        else:
            self._imports.add("import importlib")
            self._loading.append(f"module = importlib.import_module({name!r})")
        return "module"

    def function(self, made: Made) -> str:
        """Write a function that makes a call, and return its name; equal calls share one."""
        expression, values = self._call(made)
        lines = [f"    {name} = {value}" for name, value in values.items()]
        body = "\n".join([*lines, f"    return {expression}"])
        return self._functions.setdefault(body, f"call_{len(self._functions) + 1}")

    def call(self, made: Made) -> str:
        """Write the arguments of a call, and return the expression that makes it."""
        expression, values = self._call(made)
        self.lines += [f"{name} = {value}" for name, value in values.items()]
        return expression

    def _call(self, made: Made) -> tuple[str, Mapping[str, str]]:
        values = {
            name: self._array(value)
            for name, value in made.arguments.items()
            if isinstance(value, Given)
        }
        by_position = made.positional
        values |= {name: repr(made.arguments[name]) for name in by_position if name not in values}
        shown = [
            name if name in by_position else f"{name}={name if name in values else repr(value)}"
            for name, value in made.arguments.items()
        ]
        return f"{self.adapter}({', '.join(shown)})", values

    def _array(self, given: Given) -> str:
        """Return Python text that makes an array again, bit for bit and in its form."""
        if given.form in ("strided", "read-only"):
            self._helpers[STRIDED if given.form == "strided" else READ_ONLY] = None
        return FORMED[given.form].format(self._values(given.values), given.strides)

    def _values(self, values: Array) -> str:
        dtype = dtype_name(values)
        if dtype == "bfloat16":
            self._imports.add("import ml_dtypes")
        of = "ml_dtypes.bfloat16" if dtype == "bfloat16" else f"np.{dtype}"
        if ranged := _range(values):
            return f"np.arange({ranged}, dtype={of})"
        if values.size <= SHORT:
            shape = "" if values.ndim == 1 else f".reshape({values.shape})"
            return f"np.array({_listed(values)}, dtype={of}){shape}"
        self._imports |= {"import base64", "import zlib"}
        packed = base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
        unpacked = f'zlib.decompress(base64.b64decode("{packed}"))'
        return f"np.frombuffer({unpacked}, dtype={of}).reshape({values.shape}).copy()"


def _range(values: Array) -> str:
    """Return start, stop and step if the values are a range; else an empty text."""
    if values.ndim != 1 or values.size <= FEW or values.dtype.kind != "i":
        return ""
    first, second = int(values[0]), int(values[1])
    stop = int(values[-1]) + (second - first)
    if first == second or not np.array_equal(values, np.arange(first, stop, second - first)):
        return ""
    return f"{first}, {stop}" if second == first + 1 else f"{first}, {stop}, {second - first}"


def _listed(values: Array) -> str:
    """Return the elements with the fewest digits that restore them, in lines of readable length."""
    flat = values.ravel()
    if flat.dtype.kind in "iub":
        texts = [str(value) for value in flat.tolist()]
    else:
        texts = [str(value) for value in flat]
        if not np.array_equal(np.array(texts, dtype=np.float64).astype(flat.dtype), flat):
            texts = [str(float(value)) for value in flat]
    text = re.sub(r"(inf|nan)", r"np.\1", f"[{', '.join(texts)}]")
    return fill(text, WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)
