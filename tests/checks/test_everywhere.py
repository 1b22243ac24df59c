"""Rare inputs are tried in every call: large, wide, equal, fractional and small numbers."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Options, checks_of
from posenc_conformance.checks.call_sizes import reshaped
from posenc_conformance.checks.execution import execute
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.checks.variations import (
    MANY,
    many_and_equal,
    many_batches,
    other_cases,
    sizes_of,
)
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge import case as judge_case
from posenc_conformance.judge.history import History
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.truth_cache import Truths
from posenc_conformance.judge.verdict import Verdict
from posenc_lab.judging import failed, judge, schemes
from posenc_lab.miniatures import everywhere, wrong
from posenc_lab.miniatures.base import STEPS, Array, declared

assert wrong.__path__  # importing them fills the list

FEW = {"axial_rope_widths", "random_walk", "session_position_ids", "t5_bias_vjp"}
"""Calls with as many results as axes, with slow results, or with a cache of fixed size."""
UNUSED = {
    ("yarn", "by-parts", "attention_factor"),
    ("yarn", "by-parts", "mscale"),
    ("yarn", "by-parts", "mscale_all_dim"),
    ("yarn", "telechat3", "mscale"),
    ("yarn", "telechat3", "mscale_all_dim"),
}
"""Parameters that have no meaning under these combinations."""
SMALL = {"eps"}
"""Parameters that are far below 1 in every call, so that nobody takes them for integers."""

CAUSES: dict[str, tuple[Callable[[everywhere.Given], everywhere.Given], str, str]] = {
    "whole-base": (
        everywhere.whole_base,
        "after-others",
        "longrope_frequencies dynamic_ntk_frequencies llama3_vjp embedding_sum concatenation "
        "m_rope_vjp sinusoidal rope",
    ),
    "whole-parameters": (
        everywhere.whole_parameters,
        "after-others",
        "position_interpolation ntk_aware_vjp dynamic_ntk llama3_frequencies yarn_frequencies "
        "llama3_vjp yarn_vjp",
    ),
    "counted-rows": (
        everywhere.counted_rows,
        "after-others",
        "rope yarn llama3_vjp xpos sinusoidal learned timestep rope_2d m_rope axial_rope "
        "embedding_sum query_temperature",
    ),
    "clipped": (
        everywhere.clipped,
        "large-values",
        "clipped_bias resized_relative_table attention_weights nerf learned alibi_bias_vjp "
        "kerple_bias rope tupe_scores",
    ),
    "flushed": (
        everywhere.flushed,
        "small-values",
        "clipped_bias resized_relative_table attention_weights learned alibi_bias_vjp kerple_bias "
        "rope tupe_scores llama3_vjp m_rope embedding_sum",
    ),
    "capped-base": (
        everywhere.capped_base,
        "after-others",
        "rope yarn llama3_vjp dynamic_ntk m_rope_vjp sinusoidal xpos longrope_frequencies",
    ),
    "doubled-and-halved": (
        everywhere.doubled_and_halved,
        "small-integers",
        "integer deberta_bucket learned binary llama3_vjp rope t5_bucket timestep",
    ),
    "first-channels": (
        everywhere.first_channels,
        "sizes",
        "decomposed_relative_bias nerf attention_weights gaussian_fourier layout_embedding "
        "fire_bias tupe_scores deberta_scores longrope_vjp m_rope_vjp rope_2d_mixed",
    ),
    "square-transposed": (
        everywhere.square_transposed,
        "sizes",
        "clipped_bias attention_weights layout_bias deberta_scores fire_bias permute_qk t5_bias "
        "learned rope_2d_image",
    ),
    "first-numbers": (
        everywhere.first_numbers,
        "sizes",
        "clipped_bias fire_bias resized_relative_table alibi_bias_vjp random_walk",
    ),
    "batches-transposed": (
        everywhere.batches_transposed,
        "batch-axes",
        "nerf attention_weights llama3_vjp concatenation embedding_sum rope query_temperature",
    ),
}
BLOCKS = (
    "conv_wav2vec2 x -1",
    "conv_wav2vec2 weight_v -2",
    "conv_hubert x -1",
    "cope_scores q -2",
    "cope_scores table -2",
    "cope_gated_scores q -2",
    "dual_chunk_scores q -2",
    "dual_chunk_scores q -3",
    "dual_chunk_scores k -3",
    "dynamic_position_bias w_in -1",
    "dynamic_position_bias w_mid -1",
    "dynamic_position_bias w_mid -2",
    "dynamic_position_bias w_out -1",
    "fire_bias_vjp gradient -2",
    "fope sin_coef -1",
    "fope cos_coef -2",
    "leaky_rerope_scores q -2",
    "leaky_rerope_scores k -3",
    "mla_scores k_nope -1",
    "mla_scores k_rope -1",
    "rerope_scores q -2",
    "rerope_scores q -3",
    "self_extend_scores q -2",
    "self_extend_scores k -3",
    "transformer_xl_scores q -2",
)
"""Calls, arrays and axes of which a block of 128 threads sees only the beginning."""
OUTSIDE: dict[str, Callable[[Array, Array], Array]] = {
    "clipped": lambda p, table: table[np.clip(p, 0, len(table) - 1)],
    "around": lambda p, table: table[p % len(table)],
    "from-the-end": lambda p, table: table[np.where(p < 0, p, np.minimum(p, len(table) - 1))],
    "zeros": lambda p, table: np.where(
        ((p >= 0) & (p < len(table)))[:, None], table[p % len(table)], 0
    ),
    "nan": lambda p, table: np.where(
        ((p >= 0) & (p < len(table)))[:, None], table[p % len(table)], np.nan
    ),
    "in-32-bits": lambda p, table: table[p.astype(np.int32)],
}


def rejected_by(adapter: object) -> set[str]:
    """Return the behaviours that fail or are silent."""
    claimed = subjects(adapter, schemes())
    checks = checks_of(claimed[0].scheme, "behaviour", claimed)
    names = {check.id.partition("[")[0]: check for check in checks}
    options = Options(examples=3)
    return {
        name
        for name, check in names.items()
        if execute(check, options).verdict in (Verdict.FAILED, Verdict.SILENT)
    }


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize(
    ("cause", "call"), [(cause, call) for cause, row in CAUSES.items() for call in row[2].split()]
)
def test_rare_inputs_are_tried_in_every_call(cause: str, call: str) -> None:
    change, behaviour, _ = CAUSES[cause]
    steps = next(row for row in STEPS if row.call == call)
    right = tuple(STEPS)
    assert behaviour in rejected_by(everywhere.with_inputs(steps, change))
    assert tuple(STEPS) == right, "a wrong one stands among those that other tests take for right"


@pytest.mark.slow
@pytest.mark.remembered(shipped=True)
@pytest.mark.parametrize("block", BLOCKS)
def test_every_axis_is_tried_wide(block: str) -> None:
    call, name, axis = block.split()
    steps = next(candidate for candidate in STEPS if candidate.call == call)
    change = everywhere.first_of(name, int(axis))
    assert "sizes" in rejected_by(everywhere.with_inputs(steps, change))


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize(
    ("make", "behaviour", "call"),
    [
        (everywhere.with_one_buffer, "no-alias", "causal_mask"),
        (everywhere.with_one_buffer, "no-alias", "sandwich_bias"),
        (everywhere.with_one_buffer, "results-last", "t5_bucket"),
        (everywhere.with_first_dtype, "after-others", "rope"),
        (everywhere.with_first_dtype, "after-others", "yarn_vjp"),
        (everywhere.with_first_and_last, "after-others", "rope"),
        (everywhere.with_first_and_last, "after-others", "sinusoidal"),
        (everywhere.with_first_and_last, "after-others", "learned"),
        (everywhere.with_first_and_last, "after-others", "yarn_vjp"),
        (everywhere.with_first_and_last, "after-others", "rope_batched"),
        (everywhere.with_first_and_last, "after-others", "timestep"),
        (everywhere.with_first_queries, "no-leak", "alibi_bias"),
        (everywhere.with_first_queries, "no-leak", "sandwich_bias"),
        (everywhere.with_few_blocks, "sizes", "resized_relative_table"),
        (everywhere.with_few_blocks, "sizes", "integer"),
        (everywhere.with_few_blocks, "sizes", "layout_embedding"),
        (everywhere.with_few_blocks, "batch-axes", "conv_peg"),
        (everywhere.with_few_blocks, "sizes", "fire_bias"),
        (everywhere.with_few_blocks, "sizes", "kerple_bias_vjp"),
        (everywhere.with_few_blocks, "sizes", "alibi_bias_vjp"),
        (everywhere.with_few_blocks, "sizes", "clipped_bias_vjp"),
        (everywhere.with_few_blocks, "sizes", "dynamic_ntk_frequencies"),
        (everywhere.with_few_blocks, "sizes", "laplacian"),
        (everywhere.with_few_blocks, "batch-axes", "conv_wav2vec2"),
        (everywhere.with_few_blocks, "sizes", "attention"),
        (everywhere.with_few_blocks, "batch-axes", "longrope_vjp"),
    ],
)
def test_shared_and_small_memory_is_seen(make: Any, behaviour: str, call: str) -> None:
    steps = next(candidate for candidate in STEPS if candidate.call == call)
    assert behaviour in rejected_by(make(steps))


@pytest.mark.slow
@pytest.mark.remembered
@pytest.mark.parametrize("scheme", schemes(), ids=lambda scheme: scheme.id)
def test_every_call_is_tried_with_many_numbers(scheme: KnownScheme) -> None:
    """Each call has more results than a grid has blocks, under its first combination."""
    largest: dict[str, int] = {}
    for subject in subjects(reference_for([scheme])(), [scheme]):
        if subject.call.name in largest:
            continue
        case = smallest_case(subject, subject.dtypes[0])
        changes = [*sizes_of(case), *many_and_equal(case), *many_batches(case)]
        changes += reshaped(subject, case)
        shapes = (case.with_arguments(**change).shape for change in changes)
        largest[subject.call.name] = max(map(prod, shapes))
    assert {call for call, numbers in largest.items() if numbers <= MANY} <= FEW


@pytest.mark.slow
@pytest.mark.remembered
@pytest.mark.parametrize("scheme", schemes(), ids=lambda scheme: scheme.id)
def test_every_real_parameter_is_tried_with_a_fraction(scheme: KnownScheme) -> None:
    """An implementation that truncates a number to an integer is rejected."""
    claimed = subjects(reference_for([scheme])(), [scheme])
    unseen = {
        (subject.call.name, subject.label, name)
        for subject in claimed
        for name, parameter in subject.call.parameters.items()
        if parameter.type == "real" and name not in SMALL and not sees_cut(subject, name)
    }
    assert unseen == {entry for entry in UNUSED if entry[0] in scheme.calls}


BELOW: dict[str, Callable[[Array], Array]] = {
    "unsigned": np.abs,
    "cut at 0": lambda positions: np.maximum(positions, 0),
    "the end of a table": lambda positions: positions % 4096,
    "bytes": lambda positions: np.where(positions < 0, positions % 256, positions),
    "only near ones": lambda positions: np.maximum(positions, -64),
}


@pytest.mark.slow
@pytest.mark.remembered(shipped=True)
@pytest.mark.parametrize("name", BELOW)
def test_claimed_negative_positions_are_checked(name: str) -> None:
    """Each wrong treatment of them is rejected in each call with the option ``domain``."""
    calls = set()
    for scheme in schemes():
        for subject in subjects(reference_for([scheme])(), [scheme]):
            if "domain" in subject.call.options and subject.call.name not in calls:
                calls.add(subject.call.name)
                method = everywhere.with_positions(subject, BELOW[name])
                assert not passes(replace(subject, method=method, history=History())), (
                    subject.call.name
                )
                assert passes(subject), subject.call.name
    every = [call for scheme in schemes() for call in scheme.calls.values()]
    assert calls == {call.name for call in every if "domain" in call.options}


def passes(subject: Subject) -> bool:
    checks = checks_of(subject.scheme, "behaviour", [subject])
    check = next(candidate for candidate in checks if candidate.id.startswith("negative-positions"))
    return execute(check, Options(examples=3)).verdict is Verdict.PASSED


@pytest.mark.slow
def test_unclaimed_negative_positions_are_not_checked() -> None:
    class Table:
        @claims("half", max_position=4095)
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return posenc.rope(x, np.arange(4096)[positions], base=base, layout="half")

    class Claiming:
        @claims("half", max_position=4095, domain="negative")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return posenc.rope(x, np.arange(4096)[positions], base=base, layout="half")

    assert not failed(judge(Table()))
    assert failed(judge(Claiming()))


def sees_cut(subject: Subject, name: str) -> bool:
    other = replace(subject, method=everywhere.with_whole(subject, name), history=History())
    checks = checks_of(subject.scheme, "behaviour", [other])
    check = next(candidate for candidate in checks if candidate.id.startswith("after-others"))
    return execute(check, Options(examples=3)).verdict in (Verdict.FAILED, Verdict.BLOCKED)


@pytest.mark.parametrize("answer", OUTSIDE.values(), ids=OUTSIDE)
def test_answers_outside_a_table_are_rejected(answer: Callable[[Array, Array], Array]) -> None:
    class Lookup:
        @claims("plain", dtype="float32")
        def learned(self, positions: Array, table: Array) -> Array:
            return answer(positions, table)

    verdicts = judge(Lookup(), ("golden", "robust"))
    assert {run.verdict for run in verdicts if run.check.level == "golden"} == {"passed"}
    assert "silent" in {run.verdict for run in verdicts if run.check.level == "robust"}


@pytest.mark.parametrize(
    ("call", "bad"),
    [
        ("query_temperature", "negative-position"),
        ("query_log_scale", "negative-position-of-logarithm"),
        ("m_rope_position_ids", "negative-length"),
    ],
)
def test_answers_to_negative_numbers_are_reported(call: str, bad: str) -> None:
    """The definition has no value there, and these right implementations validate nothing."""
    steps = next(item for item in STEPS if item.call == call)
    with np.errstate(all="ignore"):
        verdicts = judge(declared(type(steps.__name__, (steps,), {}, listed=False))(), ["robust"])
    assert bad in {item.check.id.partition("[")[0] for item in verdicts if item.verdict == "silent"}


@pytest.mark.parametrize(
    ("distance", "more", "right"),
    [(64, -1, True), (64, 1, False), (64, -2, False), (65, -1, False), (100, 1, False)],
)
def test_two_buckets_are_right_at_a_whole_logarithm(distance: int, more: int, right: bool) -> None:
    """The last bit of the logarithm decides which of the two is found."""

    class Bucket:
        @claims("causal", num_buckets=64, max_distance=512)
        def t5_bucket(self, relative_position: Array) -> Array:
            result = posenc.t5_bucket(
                relative_position, direction="causal", num_buckets=64, max_distance=512
            )
            return np.asarray(result + more * (relative_position == -distance))

    assert right == (not failed(judge(Bucket(), ("smoke", "invariant", "precision"))))


@pytest.mark.parametrize(("more", "right"), [(1, True), (-1, False), (2, False)])
def test_two_buckets_are_right_at_the_last_distance(more: int, right: bool) -> None:
    class Bucket:
        @claims("clamped", num_buckets=64, max_relative_positions=512)
        def deberta_bucket(self, relative_position: Array) -> Array:
            result = posenc.deberta_bucket(
                relative_position, num_buckets=64, max_relative_positions=512
            )
            beyond = np.abs(relative_position) >= 511
            return np.asarray(result + more * np.sign(relative_position) * beyond)

    assert right == (not failed(judge(Bucket(), ("smoke", "invariant", "precision"))))


def test_no_truth_is_computed_for_a_number_that_no_claim_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OfOneBase:
        @claims("half", base=10000.0)
        def rope(self, x: Array, positions: Array) -> Array:
            return posenc.rope(x, positions, base=10000.0, layout="half")

    bases = list[float]()

    def counted(*arguments: Any, base: float, **keywords: Any) -> Array:
        bases.append(base)
        return posenc.rope(*arguments, base=base, **keywords)

    monkeypatch.setattr(judge_case, "TRUTHS", Truths())
    rope = next(candidate for candidate in schemes() if candidate.id == "rope")
    (subject,) = subjects(OfOneBase(), [replace(rope, find_reference=lambda *_: counted)])
    assert list(other_cases(subject, smallest_case(subject, "float32")))
    assert set(bases) <= {
        10000.0,
        500000.0,
        97.3,
        1e7,
    }  # the last three are those of ``other_cases``
