"""Adapters that do mischief, and the kit's messages, in a worker and in pytest's process."""

import numpy as np

from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.subject import Subject

HEAD = "import functools, sys\nimport numpy as np\nimport pytest\n"
CLAIMS = "from posenc_conformance import claims\n"
CLASS = HEAD + CLAIMS + "class Adapter:\n"
ROPE = "    def rope(self, x, positions, *, base=10000.0): return x\n"
SLOPES = 2.0 ** -np.arange(1.0, 9.0)


def ask_smallest(subject: Subject) -> np.ndarray:
    return ask(subject, smallest_case(subject, "float64"))


ESCAPES = {
    "sys.exit": ("import sys; sys.exit(0)", "SystemExit"),
    "exit": ("exit()", "SystemExit"),
    "skip": ("import pytest; pytest.skip('no GPU')", "Skipped: no GPU"),
    "xfail": ("import pytest; pytest.xfail('known')", "XFailed: known"),
    "fail": ("import pytest; pytest.fail('no')", "Failed: no"),
    "pytest.exit": ("import pytest; pytest.exit('enough', returncode=0)", "Exit: enough"),
    "interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "generator-exit": ("raise GeneratorExit", "GeneratorExit"),
    "base-exception": ("raise BaseException('gone')", "BaseException: gone"),
    "cancelled": ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
}


REFUSALS = {
    "value-error": ("raise ValueError('heads')", "ValueError: heads"),
    "without-text": ("raise ArithmeticError", "ArithmeticError"),
    "text-that-raises": (
        "class E(Exception):\n    def __str__(self): raise OSError\nraise E",
        "cannot be shown",
    ),
    "text-with-odd-letters": ("raise ValueError('\\ud800\\x00')", "ValueError"),
    "text-of-megabytes": ("raise ValueError('x' * 10**7)", "ValueError: xxx"),
    "recursion": ("def f(): f()\nf()", "RecursionError"),
    "stop-iteration": ("raise StopIteration", "StopIteration"),
    "memory-error": ("raise MemoryError", "MemoryError"),
    "group": ("raise ExceptionGroup('two', [ValueError(), OSError()])", "ExceptionGroup"),
    "broken-pipe": ("raise BrokenPipeError", "BrokenPipeError"),
    "blocking": ("raise BlockingIOError", "BlockingIOError"),
    "input": ("import sys; sys.stdin = open(0, closefd=False); input()", "EOFError"),
    "breakpoint": ("breakpoint()", "--posenc-here"),
    "imports-the-reference": ("import posenc", "posenc contains the right answers"),
    "imports-from-the-reference": ("from posenc import rope", "posenc contains the right answers"),
    "imports-within-the-reference": (
        "import posenc.schemes.rotary.rope",
        "posenc contains the right answers",
    ),
    "imports-the-oracle": (
        "import posenc_conformance.oracle.rotary.rope",
        "contains the right answers",
    ),
    "imports-a-scheme": (
        "import posenc_conformance.schemes.rotary.rope",
        "contains the right answers",
    ),
    "imports-the-judge": (
        "from posenc_conformance.judge import case",
        "contains the right answers",
    ),
    "imports-the-scheme-files": (
        "from posenc_conformance.scheme_file.read import load_all",
        "contains the right answers",
    ),
    "imports-the-reference-adapter": (
        "from posenc_conformance.implementations.reference import Reference",
        "contains the right answers",
    ),
    "imports-it-by-name": (
        "import importlib; importlib.import_module('posenc.elementary')",
        "posenc contains the right answers",
    ),
}


FORMS = {
    "nothing": ("None", "returned None: is a return missing?"),
    "an-object": ("object()", "cannot be made an array"),
    "a-generator": ("(i for i in right)", "cannot be made an array"),
    "a-set": ("{1.0}", "cannot be made an array"),
    "a-dictionary": ("{'slopes': right}", "cannot be made an array"),
    "ragged": ("[[1.0], [1.0, 2.0]]", "cannot be made an array"),
    "objects": ("right.astype(object)", "cannot be made an array"),
    "text": ("'0.5'", "dtype that the kit does not know"),
    "bytes": ("b'0.5'", "dtype that the kit does not know"),
    "complex": ("right + 0j", "returned complex128, a dtype that the kit does not know"),
    "dates": ("right.astype('M8[s]')", "dtype that the kit does not know"),
    "fields": ("right.astype([('a', 'f8')])", "dtype that the kit does not know"),
    "huge": ("__import__('numpy').broadcast_to(right, (2**40, 8))", "too large to be looked at"),
    "another-shape": ("right[:3]", "returned shape (3,); expected (8,)"),
    "a-number": ("0.5", "returned shape (); expected (8,)"),
    "another-dtype": ("right.astype('f4')", "returned float32; expected float64"),
    "whole-numbers": ("right.astype('i8')", "returned int64; expected float64"),
    "truth-values": ("right > 0", "returned bool; expected float64"),
    "not-finite": ("right / 0", "returned inf at index (0,)"),
    "array-that-raises": (
        "type('A', (), {'__array__': lambda *a, **k: 1 / 0})()",
        "ZeroDivisionError",
    ),
    "array-that-exits": (
        "type('A', (), {'__array__': lambda *a, **k: exit()})()",
        "cannot be made an array: SystemExit",
    ),
    "dlpack-that-is-none": ("type('A', (), {'__dlpack__': 1})()", "cannot be made an array"),
}


LIAR = """
import numpy as np
class Liar(np.ndarray):
    def __array_ufunc__(self, *arguments, **keywords): return np.zeros(8)
    def __sub__(self, other): return np.zeros(8)
    def __eq__(self, other): return np.ones(8, bool)
    def astype(self, *arguments, **keywords): return 2.0 ** -np.arange(1.0, 9.0)
    def tobytes(self, *arguments): return (2.0 ** -np.arange(1.0, 9.0)).tobytes()
    def copy(self, *arguments, **keywords): return 2.0 ** -np.arange(1.0, 9.0)
result = np.zeros(8).view(Liar)
"""
