"""The verdicts of ``check`` on miniatures, called once or a few times as in a user's own test.

    python -m posenc_lab.one_result [--scheme ID] [--names]

Every wrong miniature of the schemes below is called with a user's typical data: normal numbers of
shape 2 × 8 × 128 × 64, positions from 0 or from the end of a cache. A mistake that shows only
between calls, at other sizes or with bad input can't show here; a rejected miniature should get its
name. Right miniatures must all pass.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance import check
from posenc_conformance.adapters.claims import claims_on
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import NotClaimed
from posenc_conformance.registry import load_all
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import WRONG, Mistake
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.results import table

assert right.__path__, wrong.__path__  # importing them fills the lists

BATCH, HEADS, TOKENS, CHANNELS = 2, 8, 128, 64
STARTS = (0, 4000)
"""First position of a prompt, and of the tokens after a KV cache."""
BASES = (10_000.0, 500_000.0)

Arguments = dict[str, Any]


def _normal(*shape: int) -> Any:
    return np.random.default_rng(2026).standard_normal(shape)


def _rows() -> Iterator[Arguments]:
    """Yield queries at the positions of a prompt, and at positions after a KV cache."""
    for start in STARTS:
        x = _normal(BATCH, HEADS, TOKENS, CHANNELS)
        yield {"x": x, "positions": start + np.arange(TOKENS)}


def _rotary(**more: Any) -> Callable[[], Iterator[Arguments]]:
    """Return a function that yields the queries with each base and the parameters ``more``."""
    return lambda: ({**rows, "base": base, **more} for rows in _rows() for base in BASES)


def _rope() -> Iterator[Arguments]:
    yield from _rotary()()
    yield from _rotary(rotary_dim=CHANNELS // 2)()


def _images() -> Iterator[Arguments]:
    """Yield M-RoPE's arguments for text, an image of 8 × 8 patches, and text again."""
    x = _normal(BATCH, HEADS, TOKENS, CHANNELS)
    text, patches = np.arange(32), np.arange(64)
    image = np.stack([np.full(64, 32), 32 + patches // 8, 32 + patches % 8])
    both = [np.tile(text, (3, 1)), image, np.tile(40 + text, (3, 1))]
    for base in (1e6, 1e4):
        positions = np.concatenate(both, axis=1)
        yield {"x": x, "positions": positions, "sections": np.array([12, 10, 10]), "base": base}


def _table() -> Iterator[Arguments]:
    for start in STARTS:
        yield {"positions": start + np.arange(TOKENS), "dim": CHANNELS, "base": 10_000.0}


def _lengths(**more: Any) -> Callable[[], Iterator[Arguments]]:
    """Return a function that yields query and key lengths of a prefill, a decode step, a chunk."""
    sizes = ((TOKENS, TOKENS), (1, TOKENS), (16, TOKENS))
    return lambda: ({"q_len": q, "k_len": k, **more} for q, k in sizes)


def _heads() -> Iterator[Arguments]:
    for heads in (HEADS, 12):
        yield from _lengths(heads=heads)()


def _t5() -> Iterator[Arguments]:
    table_ = _normal(32, HEADS)
    for lengths in ((TOKENS, TOKENS), (1, 300), (300, 300)):
        yield {"table": table_, "q_len": lengths[0], "k_len": lengths[1], "max_distance": 128}


SCALED = {"factor": 8.0, "original_max_position_embeddings": 8192}
LLAMA_3 = {**SCALED, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"factor": 4.0, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}
ASKED: dict[str, Callable[[], Iterator[Arguments]]] = {
    "rope": _rope,
    "sinusoidal": _table,
    "learned": lambda: (
        {"positions": np.arange(TOKENS), "table": _normal(rows, CHANNELS)} for rows in (512, 514)
    ),
    "alibi_bias": _heads,
    "alibi_slopes": lambda: ({"heads": heads} for heads in (8, 12, 32)),
    "t5_bias": _t5,
    "t5_bucket": lambda: (
        {
            "relative_position": np.arange(300) - np.arange(300)[:, None],
            "num_buckets": 32,
            "max_distance": 128,
        }
        for _ in "1"
    ),
    "position_interpolation": _rotary(factor=4.0),
    "llama3": _rotary(**LLAMA_3),
    "yarn": _rotary(**YARN),
    "m_rope": _images,
    "sliding_window": _lengths(window=32),
}
"""The arguments with which each call is checked."""


def scheme_ids() -> list[str]:
    """Return the ids of the schemes that have a call in ASKED."""
    return [scheme.id for scheme in load_all() if scheme.calls.keys() & ASKED.keys()]


@dataclass(frozen=True)
class Said:
    """The verdict of ``check`` on a miniature."""

    scheme: str
    miniature: str
    named: str | None
    """The id of the miniature's mistake, if the spec has one."""
    rejected: bool
    names: tuple[str, ...]
    """The mistakes named by the failed checks."""

    @property
    def is_named(self) -> bool:
        """Whether every failed check named the miniature's mistake and no other."""
        return set(self.names) == {self.named}


def say(make: Callable[[], object], schemes: Sequence[KnownScheme]) -> Said | None:
    """Pass a miniature's results to ``check``; return None if its call is not in ASKED."""
    failures: list[str] = []
    claimed = [claim for claim in subjects(make(), schemes) if claim.call.name in ASKED]
    if not claimed:
        return None
    for subject in claimed:
        for dtype in subject.dtypes:
            for arguments in ASKED[subject.call.name]():
                failures += _failure(subject, subject.case(arguments, dtype))
    return Said(
        claimed[0].scheme.id,
        getattr(make, "__name__", "?"),
        make.named if isinstance(make, type) and issubclass(make, Mistake) else None,
        bool(failures),
        tuple(failures),
    )


def _failure(subject: Subject, case: Case) -> list[str]:
    """Return the name given to a wrong result (empty without a name); no item if it is right."""
    if "rotary_dim" in case.arguments:
        case = case.with_conventions(rotation="partial")
    if case.conventions.get("offset") == "after-padding":
        case = case.with_arguments(padding_idx=1)
    if not subject.covers(case):
        return []
    inputs = case.inputs
    try:
        result = subject.invoke(case, inputs)
    except (Misbehaviour, NotClaimed):
        return [""]
    try:
        check(result, case.call.name, **{**case.inputs, **case.conventions})
    except AssertionError as error:
        first = str(error).splitlines()[0]
        return [first.rpartition("[")[2].partition(";")[0] if first.endswith("bound]") else ""]
    return []


def of_scheme(scheme: str, makes: Sequence[Callable[[], object]]) -> list[Said]:
    """Return the verdicts on the miniatures of a scheme."""
    schemes = load_all()
    calls = {name for candidate in schemes if candidate.id == scheme for name in candidate.calls}
    verdicts = []
    for make in makes:
        if calls & claims_on(make).keys():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                verdicts += [verdict for verdict in [say(make, schemes)] if verdict]
    return verdicts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheme")
    parser.add_argument("--names", action="store_true", help="list what was missed or misnamed")
    options = parser.parse_args()
    ids = [options.scheme] if options.scheme else scheme_ids()
    chosen = [verdict for id in ids for verdict in of_scheme(id, WRONG)]
    passed = [verdict for id in ids for verdict in of_scheme(id, RIGHT)]
    if options.names:
        for result in chosen:
            if not result.rejected or (result.named and not result.is_named):
                told = ", ".join(sorted({name or "-" for name in result.names})) or "passes"
                print(f"{result.scheme}: {result.miniature} ({result.named or 'no name'}): {told}")
    lines: list[list[object]] = []
    for scheme in dict.fromkeys(result.scheme for result in chosen):
        group = [result for result in chosen if result.scheme == scheme]
        lines.append([scheme, *_counts(group), _refused(passed, scheme)])
    lines.append(["all", *_counts(chosen), _refused(passed, None)])
    heads = ["scheme", "wrong", "rejected", "named", "of nameable", "right refused"]
    print(table(heads, lines))


def _counts(some: Sequence[Said]) -> list[object]:
    nameable = [verdict for verdict in some if verdict.rejected and verdict.named]
    return [
        len(some),
        sum(verdict.rejected for verdict in some),
        sum(verdict.is_named for verdict in nameable),
        len(nameable),
    ]


def _refused(passed: Sequence[Said], scheme: str | None) -> str:
    group = [verdict for verdict in passed if scheme in (None, verdict.scheme)]
    return f"{sum(verdict.rejected for verdict in group)} of {len(group)}"


if __name__ == "__main__":
    main()
