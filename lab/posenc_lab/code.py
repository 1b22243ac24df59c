"""Judge the code shown on the pages of schemes, and store the verdicts in docs/data/code.json.

    python -m posenc_lab.code [--library numpy|torch|jax] [SCHEME ...]

The code is in docs/examples/code, one file per scheme in a folder per library and family, as a
reader would paste it. ``claims.yaml`` next to these folders lists its conventions.
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, checks_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.files import import_file
from posenc_conformance.judge.arrays import to_numpy, to_torch
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.read import paths_by_name
from posenc_lab.first_failure import OPTIONS
from posenc_lab.results import keep, path_of, read_record

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "examples" / "code"
RECORD = path_of("code")
LIBRARIES = ("numpy", "torch", "jax")
DTYPE = "float32"


def claimed() -> dict[str, dict[str, str]]:
    """Return each scheme with code, and the combination that the code claims for each call."""
    combinations: dict[str, dict[str, str]] = _read_once(FOLDER / "claims.yaml")
    return combinations


def _read_once(path: Path) -> Any:
    """Return a file's content, cached until the file changes; callers must not modify it."""
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _parsed(path: Path, written: int) -> Any:
    return read_record(path) if path.suffix == ".json" else yaml.safe_load(path.read_text("utf-8"))


def path(scheme: str, library: str) -> Path:
    """Return the path of a scheme's code for a library; the file may not exist."""
    family = paths_by_name()[scheme].parent.name.replace("-", "_")
    return FOLDER / library / family / f"{scheme.replace('-', '_')}.py"


def schemes_with_code() -> list[tuple[str, str]]:
    """Return each pair of scheme and library for which a page shows code."""
    pairs = [(scheme, library) for scheme in claimed() for library in LIBRARIES]
    return [pair for pair in pairs if path(*pair).is_file()]


def adapter(scheme: str, library: str) -> object:
    """Return an adapter that calls a file's functions, with the claims of ``claims.yaml``.

    The functions receive arrays of the library.
    """
    module = import_file(path(scheme, library), f"shown_{path(scheme, library).stem}_{library}")
    methods = {
        call: claims(combination, dtype=DTYPE)(_converting(getattr(module, call), library))
        for call, combination in claimed()[scheme].items()
    }
    return type(f"{scheme} in {library}", (), methods)()


def _converting(function: Callable[..., Any], library: str) -> Callable[..., Any]:
    """Return ``function`` as a static method that converts arrays to the library's type."""
    convert = _converter(library)

    @wraps(function)
    def method(*arguments: Any, **keywords: Any) -> Any:
        converted = [convert(argument) for argument in arguments]
        result = function(*converted, **keywords)
        if result is None:  # it wrote into its first argument, which may be a copy
            arguments[0][...] = to_numpy(converted[0])
        return result

    return staticmethod(method)


def _converter(library: str) -> Callable[[Any], Any]:
    if library == "numpy":
        return lambda value: value
    if library == "torch":
        return lambda value: to_torch(value) if isinstance(value, np.ndarray) else value
    import jax.numpy as jnp

    return lambda value: jnp.asarray(value) if isinstance(value, np.ndarray) else value


def checks_of_code(scheme: str, library: str) -> list[Check]:
    """Return every check of the code's claims."""
    schemes = [loaded for loaded in load_all() if loaded.id == scheme]
    own = subjects(adapter(scheme, library), schemes)
    return [
        check for loaded in schemes for level in LEVELS for check in checks_of(loaded, level, own)
    ]


def judge_code(scheme: str, library: str) -> dict[str, Any]:
    """Judge a scheme's code: return the counts of verdicts, the horizons, and the failures.

    ``passed`` counts checks of numbers and behaviour, ``refused`` and ``not refused`` bad inputs;
    ``horizon`` has for each call the position up to which it is precise enough for bfloat16, and
    whether the claim ends there.
    """
    results = [(check, execute(check, OPTIONS)) for check in checks_of_code(scheme, library)]
    counts = Counter((check.level == "robust", result.verdict) for check, result in results)
    horizons = {
        check.subject.call.name: [result.outcome.horizon, result.outcome.horizon_is_claim]
        for check, result in results
        if result.outcome.horizon is not None
    }
    return {
        "passed": counts[False, Verdict.PASSED],
        "refused": counts[True, Verdict.PASSED],
        "not refused": counts[True, Verdict.SILENT] + counts[False, Verdict.SILENT],
        "horizon": horizons,
        "failed": [
            f"{check.id}: {result.text}"
            for check, result in results
            if result.verdict not in (Verdict.PASSED, Verdict.NOT_CLAIMED, Verdict.SILENT)
        ],
    }


def digest(scheme: str, library: str) -> str:
    """Return a hash of the code, which shows whether it has changed since it was judged."""
    return hashlib.sha256(path(scheme, library).read_bytes()).hexdigest()[:16]


def recorded() -> dict[str, Any]:
    """Return the recorded verdicts of each scheme and library."""
    verdicts: dict[str, Any] = _read_once(RECORD)["schemes"] if RECORD.is_file() else {}
    return verdicts


def update(some: Sequence[tuple[str, str]]) -> None:
    """Judge the code in ``some`` and store the verdicts; drop entries of schemes without code."""
    for scheme, library in some:
        judged = judge_code(scheme, library)
        failed = judged.pop("failed")
        print(f"{scheme} {library}: {judged}", *failed, sep="\n")
        if failed:
            raise SystemExit(f"{path(scheme, library)} is wrong")
        entries = recorded()
        entry = {"code": digest(scheme, library), "version": version(library), **judged}
        entries = {**entries, scheme: {**entries.get(scheme, {}), library: entry}}
        entries = {id: entries[id] for id in entries if id in claimed()}
        keep(RECORD, {"schemes": entries})


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("schemes", nargs="*", metavar="SCHEME")
    parser.add_argument("--library", choices=LIBRARIES)
    options = parser.parse_args()
    update(
        [
            (scheme, library)
            for scheme, library in schemes_with_code()
            if (not options.schemes or scheme in options.schemes)
            and options.library in (None, library)
        ]
    )


if __name__ == "__main__":
    main()
