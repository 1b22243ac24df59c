"""Record of the calls that the kit makes to some right implementations: how many, and how large.

    python -m tests.asked            writes the digests of all calls
    python -m tests.asked CALL ...   prints the record of some calls, a line for each check

A digest shows that something has changed. To see what, compare the lines of a call with those
printed by the last commit.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import yaml

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Options, checks_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.history import History
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes

KEPT = Path(__file__).with_name("asked.yaml")
COMMAND = "python -m tests.asked"
CALLS = (
    ("alibi_bias", "causal"),
    ("alibi_bias_vjp", "causal"),
    ("attention", "full"),
    ("axial_rope", "interleaved"),
    ("axial_rope_tiled", "vjepa-2"),
    ("axial_rope_widths", "wan"),
    ("bigbird_mask", "window-and-global"),
    ("binary", "lsb-zero-one"),
    ("cached_position_ids", "from-zero"),
    ("causal_mask", "end"),
    ("clipped_bias", "key-minus-query"),
    ("clipped_bias_vjp", "key-minus-query"),
    ("concatenation", "content-first"),
    ("conv_peg", "patches"),
    ("data_dependent_alibi_bias", "causal"),
    ("deberta_bucket", "clamped"),
    ("deberta_scores", "paper"),
    ("dynamic_ntk", "interleaved"),
    ("dynamic_ntk_frequencies", "standard"),
    ("learned", "plain"),
    ("m_rope", "qwen2-vl"),
    ("permute_qk", "to-half"),
    ("position_interpolation", "interleaved"),
    ("resized_relative_table", "vitdet"),
    ("rope", "half"),
    ("rope_2d", "rope-vit"),
    ("rope_in_place", "in-place-half"),
    ("sincos_2d", "mae"),
    ("sinusoidal", "paper"),
    ("t5_bias", "bidirectional"),
    ("t5_bucket", "bidirectional"),
    ("timestep", "ddpm"),
    ("xpos", "uncentred"),
    ("yarn_frequencies", "paper"),
)
"""Calls of different kinds that run fast, each under one combination."""
NARROW = ("sinusoidal", "learned")
"""Calls that are recorded in the narrowest dtype only."""
WIDEST, NARROWEST = "float64", "float16"
"""Dtypes that are recorded; other dtypes get the same calls."""


@dataclass
class Calls:
    """Record of the calls since it was last read."""

    method: Callable[..., Any]
    largest: tuple[int, str] = (0, "")
    count: int = 0
    digest: int = 0

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        values = [*arguments, *keywords.values()]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        for value in values:
            self.digest = crc32(_bytes(value), self.digest)
        shown = " ".join(map(_shown, values))
        self.largest = max(self.largest, (sum(value.size for value in arrays), shown))
        self.count += 1
        return self.method(*arguments, **keywords)

    def told(self) -> dict[str, Any]:
        record = {"calls": self.count, "values": self.digest, "largest": self.largest[1]}
        self.largest, self.count, self.digest = (0, ""), 0, 0
        return record


def _bytes(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        form = f"{value.shape} {value.dtype} {value.flags.c_contiguous} {value.flags.writeable}"
        # The last bits of an exponential depend on the processor; the first 24 practically do not.
        same = value.astype(np.float32) if value.dtype == np.float64 else value
        return form.encode() + same.tobytes()
    return _shown(value).encode()


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}".replace(" ", "")
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def subject_of(call: str, combination: str) -> tuple[Subject, Calls]:
    scheme = next(candidate for candidate in schemes() if call in candidate.calls)
    claimed = subjects(reference_for([scheme])(), [scheme])
    (subject,) = (s for s in claimed if (s.call.name, s.label) == (call, combination))
    calls = Calls(subject.method)
    recorded = {NARROWEST} if call in NARROW else {WIDEST, NARROWEST}
    others = set(subject.dtypes) - recorded if WIDEST in subject.dtypes else ()
    return replace(subject.without(others), method=calls, history=History()), calls


def asked(call: str, combination: str) -> dict[str, Any]:
    """Return by check the verdict, and the number, digest and largest of its calls."""
    subject, calls = subject_of(call, combination)
    record = {}
    for level in LEVELS:
        for check in checks_of(subject.scheme, level, [subject]):
            verdict = execute(check, Options(examples=3)).verdict
            record[f"{level}::{check.id}"] = {"verdict": str(verdict), **calls.told()}
    return record


def lines_of(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Format the record of a call, a line for each check."""
    return [f"{check}: {json.dumps(record)}" for check, record in found.items()]


def digest_of(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Hash the lines of a call."""
    return hashlib.sha256("\n".join(lines_of(found)).encode()).hexdigest()[:16]


def demand_passed(call: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise AssertionError unless every check has passed."""
    others = [check for check, record in found.items() if record["verdict"] != "passed"]
    assert not others, f"{call}: {', '.join(others)}: see {COMMAND} {call}"


def kept() -> dict[str, str]:
    """Return the stored digests, by call."""
    digests: dict[str, str] = yaml.safe_load(KEPT.read_text(encoding="utf-8"))
    return digests


def write() -> None:
    """Store the digests of all calls. Raises AssertionError if a check does not pass."""
    lines = [f"# Written by {COMMAND}"]
    for call, combination in CALLS:
        record = asked(call, combination)
        demand_passed(call, record)
        lines.append(f'{call}: "{digest_of(record)}"')
    KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(chosen: Sequence[str]) -> None:
    """Print the record of the ``chosen`` calls, or store the digests of all."""
    combinations = dict(CALLS)
    if unknown := [call for call in chosen if call not in combinations]:
        sys.exit(f"{', '.join(unknown)}: not among {', '.join(combinations)}")
    for call in chosen:
        print(f"{call}:", *lines_of(asked(call, combinations[call])), sep="\n  ")
    if not chosen:
        write()


if __name__ == "__main__":
    main(sys.argv[1:])
