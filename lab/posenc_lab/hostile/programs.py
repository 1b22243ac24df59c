"""Wrong behaviour of programs, and right behaviour for comparison, as Python code of an answer.

See ``program.py`` for the names that the code may use.
"""

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WRONG = "the kit's checks find it"
"""The expected outcome of a result that has the right form but wrong numbers."""


@dataclass(frozen=True)
class Program:
    """A program's behaviour, and the expected outcome."""

    kind: str
    name: str
    code: str
    says: str | None
    """A word in the failure message; None for a right answer, WRONG for wrong numbers."""


Cases = Mapping[str, tuple[str, str | None]]


def programs() -> Iterator[Program]:
    """Yield all code that runs instead of an answer."""
    kinds: Mapping[str, Cases] = {
        "words": _words(),
        "ids": _ids(),
        "sizes": _sizes(),
        "dtypes": _dtypes(),
        "values": _values(),
        "errors": _errors(),
        "deaths": _deaths(),
        "hangs": HANGS,
        "floods": FLOODS,
        "forks": FORKS,
        "right": RIGHT,
    }
    for kind, cases in kinds.items():
        for name, (code, says) in cases.items():
            yield Program(kind, name, code, says)


def descriptions() -> Iterator[Program]:
    """Yield all code that runs before the program describes itself."""
    for name, (code, says) in _descriptions().items():
        yield Program("descriptions", name, code, says)


BROKE = "broke the protocol"


def _words() -> Cases:
    lines: Sequence[str] = (
        *("''", "' '", "'hello'", "'[]'", "'4'", "'null'", "'true'", "'\"text\"'", "'{'", "'{}'"),
        *(
            "'}'",
            "'{\"id\": 1,}'",
            "'{id: 1}'",
            "\"{'id': 1}\"",
            "'[' * 10**5",
            "'{\"a\":' * 10**4",
        ),
        *("b'\\xff\\xfe'", "b'\\xef\\xbb\\xbf{}'", "'{}'.encode('utf-16')", "b'\\0' * 100"),
        *("b'\\x1b[2J'", "b'\\x1b]0;title\\x07'", "'\\u202e{}'", "b'\\x80' * 1000"),
        *("'x' * 10**6", "'HTTP/1.1 200 OK'", "'Content-Length: 2\\r\\n\\r\\n{}'", "'>>> '"),
        *("'9' * 10**5", "'NaN'", "'{\"id\": Infinity}'", '\'{"id": 1e999, "result": 1}\''),
        *("'\\r' * 100", "'\\t{}'", "'{}{}'", "'{\"a\": 1} trailing'", "'\\ufeff'", "'// {}'"),
        *("'#!/bin/sh'", "'--- a'", "b'\\xed\\xa0\\x80'", "b'PK\\x03\\x04'", "'\\v\\f'"),
    )
    return {str(number): (f"raw({line})", BROKE) for number, line in enumerate(lines)}


def _ids() -> Cases:
    odd = (
        "0",
        "-1",
        "10**6",
        "10**400",
        "'2'",
        "None",
        "True",
        "[2]",
        "{}",
        "1.5",
        "''",
        "'\\x1b'",
    )
    cases = {
        f"id-{number}": (f"say({{'id': {id}, 'result': right()}})", BROKE)
        for number, id in enumerate(odd)
    }
    return {
        **cases,
        "id-missing": ("say({'result': right()})", BROKE),
        "id-of-the-last": ("say({'id': asked['id'] - 1, 'result': right()})", BROKE),
        "id-of-the-next": ("say({'id': asked['id'] + 1, 'result': right()})", BROKE),
        "neither": ("say({'id': asked['id']})", BROKE),
        "both": (
            "say({'id': asked['id'], 'result': 1, 'error': {'type': 'E', 'message': ''}})",
            BROKE,
        ),
        "request-of-its-own": ("say({'id': asked['id'], 'request': 'call'})", BROKE),
        "key-of-escapes": ("say({'id': asked['id'], '\\x1b[2J\\n': 1})", BROKE),
        "key-of-a-megabyte": ("say({'id': asked['id'], 'k' * 10**6: 1})", BROKE),
    }


def _sizes() -> Cases:
    malformed = (
        *("-1", "[-1]", "[8.0]", "['8']", "[True]", "[None]", "None", "'8'", "8", "{}", "[[8]]"),
        *("[9]", "[7]", "[0]", "[8, 8]", "[2**62]", "[2**63, 2]", "[10**30]", "[0, 10**30]"),
        *("[1] * 100", "[0] * 70", "[1] * 10**5", "[8, -1]", "[1e300]"),
    )
    other = ("[2, 4]", "[8, 1]", "[1, 8]", "[2, 2, 2]")
    shorter = (*range(8), 9, 16)
    return {
        **{
            f"shape-{number}": (f"answer(right(shape={shape}))", BROKE)
            for number, shape in enumerate(malformed)
        },
        **{
            f"form-{number}": (f"answer(right(shape={shape}))", "returned shape")
            for number, shape in enumerate(other)
        },
        **{
            f"rows-{rows}": (f"answer(right({rows}))" if rows else "answer([])", "returned shape")
            for rows in shorter
            if rows
        },
        "list-empty": ("answer([])", "returned"),
        "list-short": ("answer([0.5] * 7)", "returned shape"),
        "list-ragged": ("answer([[1], [1, 2]])", "array"),
        "list-in-lists": ("x = 1.0\nfor _ in range(100): x = [x]\nanswer(x)", BROKE),
        "data-missing": ("answer({'dtype': 'float64', 'shape': [8]})", BROKE),
        "shape-missing": ("answer({'dtype': 'float64', 'data': ''})", BROKE),
        "more-fields": ("answer(right(strides=[8]))", BROKE),
        "field-of-escapes": ("answer({'\\x1b[2J\\n': 1})", BROKE),
    }


def _dtypes() -> Cases:
    unknown = (
        *("'float8'", "'f4'", "'FLOAT64'", "'O'", "'object'", "''", "None", "4", "[]", "{}"),
        *("'float64 '", "'<f8'", "'\\x1b[2J'", "'d' * 10**6", "'S8'", "'complex64'", "'int4'"),
    )
    others = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "bool": 1}
    data = (
        *("''", "None", "4", "[]", "'A'", "'===='", "'AAAA' * 3", "'é'", "'A' * 10**6", "'\\x00'"),
        *("right()['data'].rstrip('=')[:-1] + '!'", "right()['data'] + '\\n'", "' '"),
    )
    return {
        **{
            f"unknown-{number}": (f"answer(right(dtype={dtype}))", BROKE)
            for number, dtype in enumerate(unknown)
        },
        **{
            f"other-{dtype}": (
                f"answer({{**eight(0.0), 'dtype': {dtype!r}, 'data': zeros({8 * size})}})",
                "returned",
            )
            for dtype, size in others.items()
            if dtype != "bool"
        },
        **{
            f"data-{number}": (f"answer(right(data={text}))", BROKE)
            for number, text in enumerate(data)
        },
    }


def _values() -> Cases:
    finite = ("0.0", "1e308", "-1e308", "5e-324", "-0.0", "1.0", "2.0**-1074")
    other = ("nan", "inf", "-inf")
    results = ("'0.5'", "{}", "{'a': 1}", "{'result': 1}")
    return {
        **{
            f"all-{number}": (
                f"answer(eight({value}))",
                WRONG,
            )
            for number, value in enumerate(finite)
        },
        **{
            f"not-finite-{number}": (
                f"answer(eight(float('{value}')))",
                "index",
            )
            for number, value in enumerate(other)
        },
        **{
            f"result-{number}": (f"answer({result})", BROKE)
            for number, result in enumerate(results)
        },
        "result-null": ("answer(None)", "None"),
        "result-a-number": ("answer(0.5)", "returned shape"),
        "result-true": ("answer(True)", "returned"),
        "number-nan": ("raw('{\"id\": %d, \"result\": [NaN]}' % asked['id'])", BROKE),
        "number-infinite": ("raw('{\"id\": %d, \"result\": [Infinity]}' % asked['id'])", BROKE),
        "number-1e999": ("raw('{\"id\": %d, \"result\": [1e999]}' % asked['id'])", "returned"),
        "number-of-400-digits": ("answer([10**400] * 8)", "array"),
        "number-of-5000-digits": (
            "raw('{\"id\": %d, \"result\": [%s]}' % (asked['id'], '9' * 5000))",
            BROKE,
        ),
        "one-is-off": ("x = [2.0**-n for n in range(1, 9)]; x[3] *= 1.001\nanswer(x)", WRONG),
        "reversed": ("answer([2.0**-n for n in range(8, 0, -1)])", WRONG),
        "words": ("answer(['a'] * 8)", BROKE),
        "arrays-in-a-list": ("answer([right()] * 2)", "returned"),
        "keys-that-are-numbers": ("answer({1: 2})", BROKE),
    }


def _errors() -> Cases:
    odd: tuple[str, ...] = (
        "None",
        "'no'",
        "4",
        "[]",
        "{}",
        "{'type': 'E'}",
        "{'message': 'no'}",
        "True",
    )
    odd += ("{'type': 4, 'message': 'no'}", "{'type': 'E', 'message': 4}")
    odd += ("{'type': None, 'message': 'no'}", "{'type': ['E'], 'message': 'no'}")
    messages = (
        *("'no heads'", "''", "'\\x1b[2J'", "'a\\nposenc: all is well'", "'m' * 10**6", "'\\0'"),
        *("'\\u202e'", "'<script>'", "'%s %d {}'", "'é' * 10**4", "'\\n' * 10**5", "'\\ud800'"),
    )
    types = ("'std::domain_error'", "''", "'\\x1b[2J\\n'", "'T' * 10**6", "'SystemExit'")
    return {
        **{f"error-{number}": (f"fail({error})", BROKE) for number, error in enumerate(odd)},
        **{
            f"message-{number}": (
                f"fail({{'type': 'ValueError', 'message': {text}}})",
                "failed with",
            )
            for number, text in enumerate(messages)
        },
        **{
            f"type-{number}": (f"fail({{'type': {type}, 'message': 'no'}})", "failed with")
            for number, type in enumerate(types)
        },
    }


def _deaths() -> Cases:
    names: tuple[str, ...] = (
        "KILL",
        "SEGV",
        "ABRT",
        "BUS",
        "FPE",
        "ILL",
        "TERM",
        "HUP",
        "PIPE",
        "QUIT",
        "ALRM",
    )
    names += ("USR1", "USR2", "XCPU", "SYS", "TRAP", "VTALRM", "PROF", "XFSZ", "IO", "PWR")
    return {
        **{
            f"signal-{name}": (
                f"import os, signal, time\nif {number} != 9: signal.signal({number}, 0)\n"
                f"os.kill(os.getpid(), {number})\ntime.sleep(9)",
                f"SIG{name}",
            )
            for name in names
            if (number := getattr(signal, f"SIG{name}", 0))
        },
        **{
            f"status-{status}": (f"import os; os._exit({status})", f"status {status}")
            for status in (0, 1, 2, 3, 4, 5, 42, 126, 127, 255)
        },
        "raises": ("raise KeyError('weights')", "weights"),
        "exits": ("sys.exit('no weights')", "no weights"),
        "recursion": ("def f(): f()\nf()", "RecursionError"),
        "half-a-line": (
            "sys.stdout.write('{\"id\": '); sys.stdout.flush(); sys.exit(3)",
            "status 3",
        ),
        "answers-and-ends": ("answer(right())\nimport os; os._exit(0)", None),
        "words-of-escapes": ("sys.exit('\\x1b[2J\\nposenc: all is well')", "status 1"),
        "words-of-a-megabyte": ("sys.exit('w' * 10**6)", "status 1"),
        "stack": ("sys.setrecursionlimit(10**8)\ndef f(): f()\nf()", ""),
    }


WAITS = "no answer within"
HANGS: Cases = {
    "sleeps": ("import time; time.sleep(99)", WAITS),
    "turns": ("while True: pass", WAITS),
    "stops-itself": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", WAITS),
    "half-a-line": (
        "sys.stdout.write('{'); sys.stdout.flush()\nimport time; time.sleep(99)",
        WAITS,
    ),
    "trickles": (
        "import time\nwhile True: sys.stdout.write(' '); sys.stdout.flush(); time.sleep(0.1)",
        WAITS,
    ),
    "reads-on": ("sys.stdin.read()", WAITS),
    "closes-output": ("import os, time; os.close(1); time.sleep(99)", "closed"),
    "closes-input": ("import os, time; os.close(0); time.sleep(99)", ""),
    "ignores-signals": (
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, 1)\ntime.sleep(99)",
        WAITS,
    ),
    "a-thread-stays": (
        "import os, threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n"
        "sys.exit(3)",
        "",
    ),
}
FLOODS: Cases = {
    "a-line-without-end": ("while True: sys.stdout.write('x' * 65536)", ""),
    "spaces-without-end": ("while True: sys.stdout.write(' ' * 65536)", ""),
    "blank-lines": ("while True: print(flush=True)", BROKE),
    "lines": ("while True: print('working')", BROKE),
    "answers": ("while True: answer(right())", None),
    "errors-without-end": ("while True: print('working', file=sys.stderr)", WAITS),
    "errors-by-a-thread": (
        "import threading\n"
        "def f():\n  while True: print('w' * 1000, file=sys.stderr)\n"
        "threading.Thread(target=f, daemon=True).start()\nanswer(right())",
        None,
    ),
    "ten-megabytes-of-errors": ("sys.stderr.write('e' * 10**7)\nanswer(right())", None),
    "memory": ("x = bytearray(4 * 10**8)\nimport time; time.sleep(99)", "of memory"),
    "memory-by-steps": ("x = []\nwhile True: x.append(bytearray(10**7))", "of memory"),
    "memory-of-a-child": (
        "import os, time\nif os.fork() == 0: x = bytearray(4 * 10**8)\ntime.sleep(99)",
        "of memory",
    ),
    "a-large-array": (
        "answer({'dtype': 'float64', 'shape': [2**21], 'data': 'AAAA' * 5592405 + 'AA=='})",
        "",
    ),
    "a-long-list": ("answer([0.5] * 10**6)", "returned shape"),
    "many-keys": ("answer({str(n): n for n in range(10**5)})", BROKE),
}
_FORK = "import os, time\n"
FORKS: Cases = {
    "a-child-holds-the-pipe": (
        _FORK + "if os.fork() == 0: time.sleep(99)\nos._exit(3)",
        "status 3",
    ),
    "a-daemon": (
        _FORK + "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(99)\n"
        "  os._exit(0)\nos.wait()\nanswer(right())",
        None,
    ),
    "a-daemon-holds-the-pipe": (
        _FORK + "if os.fork() == 0:\n  os.setsid()\n  time.sleep(99)\nos._exit(0)",
        "status 0",
    ),
    "a-child-answers": (_FORK + "if os.fork() == 0: answer(right()); os._exit(0)\nos.wait()", None),
    "fifty-children": (
        _FORK + "for _ in range(50):\n  if os.fork() == 0: time.sleep(99)\nanswer(right())",
        None,
    ),
    "zombies": (
        _FORK + "for _ in range(50):\n  if os.fork() == 0: os._exit(0)\nanswer(right())",
        None,
    ),
    "a-shell": ("import subprocess\nsubprocess.Popen(['sleep', '99'])\nanswer(right())", None),
    "a-shell-that-talks": ("import subprocess\nsubprocess.run(['echo', 'hello'])", BROKE),
    "a-session-of-its-own": (
        _FORK + "answer(right())\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(99)",
        None,
    ),
    "becomes-another": (_FORK + "os.execvp('echo', ['echo', 'hello'])", BROKE),
    "becomes-cat": (_FORK + "os.execvp('cat', ['cat'])", ""),
    "ends-its-group": (_FORK + "os.killpg(os.getpgid(0), 9)", "SIGKILL"),
    "ends-its-parent": (_FORK + "answer(right())\nos.kill(os.getppid(), 0)", None),
}
RIGHT: Cases = {
    "as-an-array": ("answer(right())", None),
    "as-a-list": ("answer([2.0**-n for n in range(1, 9)])", None),
    "errors-beside": ("print('loading', file=sys.stderr)\nanswer(right())", None),
    "in-pieces": (
        "text = json.dumps({'id': asked['id'], 'result': right()}) + '\\n'\n"
        "for each in text: sys.stdout.write(each); sys.stdout.flush()",
        None,
    ),
    "other-order": ("say({'result': right(), 'id': asked['id']})", None),
    "blanks": ("raw(' ' + json.dumps({'id': asked['id'], 'result': right()}) + ' ')", None),
    "windows": ("raw(json.dumps({'id': asked['id'], 'result': right()}) + '\\r')", None),
    "escaped": (
        "raw(json.dumps({'id': asked['id'], 'result': right()}).replace('f', '\\\\u0066'))",
        None,
    ),
    "ascii-off": ("raw(json.dumps({'id': asked['id'], 'result': right()}, indent=None))", None),
    "wait": ("import time; time.sleep(0.5)\nanswer(right())", None),
}


def _descriptions() -> Cases:
    claims = "DESCRIPTION['claims'][0]"
    odd: Mapping[str, Sequence[str]] = {
        "protocol": ("2", "'1'", "None", "[1]", "True"),
        "name": ("4", "None", "[]", "''"),
        "version": ("4", "None"),
        "language": ("4", "{}"),
        "claims": ("[]", "{}", "None", "'all'", "[1]", "[{}]", "[[]]"),
    }
    inner: Mapping[str, Sequence[str]] = {
        "call": ("4", "None", "'rotate'", "'\\x1b[2J'", "''"),
        "dtype": ("'float8'", "4", "[]", "['float64', 'float8']", "None"),
        "max_position": ("-1", "'all'", "1.5", "10**30", "True", "[]"),
        "combinations": ("['odd']", "4", "[4]", "'interpolated'"),
        "restrictions": ("4", "{'odd': 1}", "{'heads': 'x'}", "{'heads': []}", "{'heads': [0]}"),
        "masked": ("'yes'", "1", "True"),
        "broadcast": ("'yes'", "True"),
        "switches": ("4", "{'odd': 4}", "{'rows': 'x'}", "{'rows': -1}"),
    }
    return {
        **{
            f"{name}-{number}": (f"DESCRIPTION[{name!r}] = {value}", name)
            for name, values in odd.items()
            for number, value in enumerate(values)
        },
        **{
            f"claim-{name}-{number}": (f"{claims}[{name!r}] = {value}", "")
            for name, values in inner.items()
            for number, value in enumerate(values)
        },
        **{f"without-{name}": (f"del DESCRIPTION[{name!r}]", name) for name in odd},
        "claim-call-missing": (f"del {claims}['call']", "call"),
        "heads-of-50000": (f"{claims}['restrictions'] = {{'heads': [*range(1, 50000)]}}", "heads"),
        "unknown": ("DESCRIPTION['odd'] = 1", "odd"),
        "unknown-of-escapes": ("DESCRIPTION['\\x1b[2J'] = 1", "\\x1b"),
        "right-no-combinations": (f"{claims}['combinations'] = []", None),
        "right-name-of-escapes": ("DESCRIPTION['name'] = '\\x1b[2J'", None),
        "right-name-of-a-megabyte": ("DESCRIPTION['name'] = 'n' * 10**6", None),
        "ends": ("sys.exit(4)", "status 4"),
        "raises": ("import no_such_module", "no_such_module"),
        "prints": ("print('hello', flush=True)", "hello"),
        "refuses": ("fail({'type': 'Old', 'message': 'protocol 2'}); sys.exit()", "Old"),
        "hangs": ("import time; time.sleep(99)", WAITS),
        "dies": ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
        "floods": ("while True: sys.stdout.write('x' * 65536)", ""),
        "an-array": ("DESCRIPTION = right()\nanswer(right()); sys.exit()", ""),
    }
