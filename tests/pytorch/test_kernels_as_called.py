"""The bench of kernels: its entries, and a handful of them judged end to end."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from posenc_conformance.registry import load_all
from posenc_lab.field import implementation, said
from posenc_lab.field.implementation import RIGHT
from posenc_lab.field.kernels import FAMILIES
from posenc_lab.field.said import ACCEPTED, NAMED, SHOWN, UNNAMED, judge_implementation

KERNELS = {kernel.name: kernel for kernel in implementation.load("kernels")}


def test_each_has_a_unique_name_and_a_sentence() -> None:
    assert len(KERNELS) == len(implementation.load("kernels"))
    assert all(kernel.meaning.endswith(".") for kernel in KERNELS.values())


def test_each_mistake_has_a_right_kernel() -> None:
    with_right = {(family.call, family.make) for family in FAMILIES if family.styles}
    assert {(family.call, family.make) for family in FAMILIES} == with_right


def test_each_wrong_one_has_the_words_of_a_right_diagnosis() -> None:
    for kernel in KERNELS.values():
        assert bool(kernel.words) == (kernel.fault != RIGHT), kernel.name


def test_right_names_are_those_of_the_specification() -> None:
    names = {
        (call, deviation.id)
        for scheme in load_all()
        for deviation in scheme.deviations
        for call in deviation.calls
    }
    for family in FAMILIES:
        for fault in family.faults:
            assert {(family.call, name) for name in fault.names} <= names, fault.name


def test_stored_results_are_of_these_kernels() -> None:
    rows = said.read(said.kept("kernels"))
    assert {name: row["fault"] for name, row in rows.items()} == {
        kernel.name: kernel.fault for kernel in KERNELS.values()
    }, "run python -m posenc_lab.field kernels --write lab/posenc_lab/field/kernels/results.yaml"


def test_threads_can_be_found() -> None:
    threads = [fault.thread for family in FAMILIES for fault in family.faults if fault.thread]
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in threads)
    assert len(set(threads)) > len(threads) / 2, Counter(threads).most_common(3)


@pytest.mark.parametrize(
    "name",
    [
        "rope.strided.strides_of_the_view",
        "rope.partial.rest_copied",
        "rope_batched.batched.two_ranks_share_heads",
        "rope_offsets.offset.four_ranks_share_rows",
        "rope_packed.packed.searched",
        "rope_in_place.in_place.by_strides_neighbours",
        "m_rope_position_ids.of_images.segment_by_segment",
    ],
)
def test_right_kernels_pass(name: str) -> None:
    assert judge_implementation(KERNELS[name]).naming == ACCEPTED


@pytest.mark.parametrize(
    "name",
    [
        "rope.strided.row_stride_is_the_width",
        "rope.tiled.first_tile_alone",
        "rope_batched.batched.positions_not_read",
        "rope_packed.packed.counted_through",
        "rope_in_place.in_place.second_made_of_the_new_first",
        "rope_vjp.reversed_turn.turned_on",
        "cached_position_ids.cached.window_not_advanced",
    ],
)
def test_wrong_kernels_are_rejected(name: str) -> None:
    result = judge_implementation(KERNELS[name])
    assert result.rejected
    assert not result.state_in_vain


def test_a_pattern_counts_if_it_says_what_is_wrong() -> None:
    kernel = KERNELS["rope.tiled.first_tile_alone"]
    assert judge_implementation(kernel).naming in (NAMED, SHOWN)
    elsewhere = replace(kernel, words=("row 7 only",))
    assert judge_implementation(elsewhere).naming == UNNAMED


@pytest.mark.parametrize(
    ("name", "rejected"),
    [("rope.of_tensors.copy_of_a_static_output", False), ("rope.of_tensors.static_output", True)],
)
def test_kernels_of_tensors_are_judged(name: str, rejected: bool) -> None:
    assert judge_implementation(KERNELS[name]).rejected == rejected
