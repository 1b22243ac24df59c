"""The mistake that each golden of the multimodal rotary embedding alone catches."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    another_convention,
    base_altered,
    base_ignored,
    last_row_missing,
    no_gradient_beyond,
    right,
    turned_forward,
    zero_taken_for_one,
)


def interleaved_to_the_end(case: Case) -> Array:
    """Pair t at axis t modulo 3, whatever the sections."""
    x, out = case.arguments["x"], case.arguments["x"].copy()
    pairs = int(case.arguments["sections"].sum())
    omega = case.arguments["base"] ** (-np.arange(pairs) / pairs)
    angles = case.arguments["positions"][np.arange(pairs) % 3].T * omega
    numbers = (x[..., :pairs] + 1j * x[..., pairs : 2 * pairs]) * np.exp(1j * angles)
    out[..., :pairs], out[..., pairs : 2 * pairs] = numbers.real, numbers.imag
    return out


def whole_head(case: Case) -> Array:
    """The channels beyond the sections turned by the time, as a head of their own."""
    out = right(case)
    rest = slice(2 * int(case.arguments["sections"].sum()), None)
    out[..., rest] = posenc.rope(
        case.arguments["x"][..., rest], case.arguments["positions"][0], layout="half"
    )
    return out


def head_dim_frequencies(case: Case) -> Array:
    """Frequencies of a head that is rotated as a whole."""
    pairs = int(case.arguments["sections"].sum())
    share = 2 * pairs / case.arguments["x"].shape[-1]
    return base_altered(lambda b: b**share)(case)


def halves(case: Case) -> Array:
    """Another layout."""
    return case.under(layout="half").truth


def segment_by_segment(case: Case) -> list[Array]:
    """Ids of each segment."""
    frames, height, width = case.arguments["segments"].T
    area = height * width // case.arguments["merge_size"] ** 2
    tokens = np.where(height > 0, frames * area, frames)
    return np.split(right(case), np.cumsum(tokens)[:-1], axis=1)


def one_frame(case: Case) -> Array:
    """What follows a video placed as if it had one frame."""
    return case.under(next_position="spatial").truth


def every_frame(case: Case) -> Array:
    """What follows a video placed after its largest id."""
    return case.under(next_position="largest").truth


def time_from_zero_after_text(case: Case) -> Array:
    """Times of images that follow text from 0 on."""
    parts = segment_by_segment(case)
    text = case.arguments["segments"][:, 1] == 0
    for index in np.flatnonzero(text[:-1] & ~text[1:]) + 1:
        parts[index][0] -= parts[index][0, 0]
    return np.concatenate(parts, axis=1)


def later_images_as_text(case: Case) -> Array:
    """Images after the first, which end the sequence, counted on."""
    parts = segment_by_segment(case)
    images = np.flatnonzero(case.arguments["segments"][:, 1])
    for index in images[1:]:
        parts[index][:] = parts[index][0, 0] + np.arange(parts[index].shape[1])
    return np.concatenate(parts, axis=1)


MISTAKES: dict[str, Mistake] = {
    "qwen2-vl-d12-start": zero_taken_for_one,
    "qwen2-vl-head128": base_ignored,
    "qwen2-vl-text-4k": last_row_missing(4096),
    "qwen3-vl-d8-start": zero_taken_for_one,
    "qwen3-vl-head128": interleaved_to_the_end,
    "qwen3-5-head256": whole_head,
    "glm-4v-d12": halves,
    "glm-4v-head128-half": head_dim_frequencies,
    "video-then-text": one_frame,
    "text-image-text": time_from_zero_after_text,
    "two-images": later_images_as_text,
    "video-overlapped-by-text": every_frame,
    "vjp-qwen2-vl-d6": turned_forward,
    "vjp-qwen2-vl-d8-partial": no_gradient_beyond,
    "vjp-qwen3-vl-d8": another_convention(allocation="contiguous"),
    "vjp-glm-4v-d6": another_convention(layout="half"),
}
