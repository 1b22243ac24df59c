import numpy as np
import numpy.typing as npt

import posenc


def _axes(sections: list[int], allocation: str) -> str:
    """Find the axis of each pair, from the pairs that posenc rotates if only its position is 1."""
    pairs = sum(sections)
    letters = [""] * pairs
    for axis, letter in enumerate("THW"):
        place = np.zeros((3, 1), dtype=np.int64)
        place[axis] = 1
        x = np.tile([1.0, 0.0], pairs)[None]
        turned = posenc.m_rope(x, place, sections, layout="interleaved", allocation=allocation)[0]
        for t in np.flatnonzero(turned[1::2] != 0):
            assert letters[t] == ""
            letters[t] = letter
    return "".join(letters)


def allocations() -> None:
    """The axes of all 64 pairs, from vectors rotated by posenc, in two allocations."""
    assert _axes([16, 24, 24], "contiguous") == 16 * "T" + 24 * "H" + 24 * "W"
    assert _axes([24, 20, 20], "interleaved") == 20 * "THW" + "TTTT"


def alternating() -> None:
    """The axes of all 64 pairs of ERNIE 4.5 VL; text is rotated as by rope."""
    assert _axes([20, 22, 22], "alternating") == 22 * "HW" + 20 * "T"
    x, here = np.ones((3, 128)), np.array([1, 70, 4000])
    text = np.stack([here] * 3)
    turned = posenc.m_rope(
        x, text, [20, 22, 22], base=5e5, layout="interleaved", allocation="alternating"
    )
    assert np.allclose(turned, posenc.rope(x, here, base=5e5), atol=1e-12)


def spaced() -> tuple[str, str]:
    """Times of four frames of one token that follow three words, with seconds and without."""
    segments = [[3, 0, 0], [4, 2, 2]]
    seconds = {"tokens_per_second": 2, "second_per_grid": 1}
    with_seconds, without = (
        posenc.m_rope_position_ids(segments, merge_size=2, next_position="spatial", **times)[0, 3:]
        for times in (seconds, {})
    )
    quick = posenc.m_rope_position_ids(
        segments, merge_size=2, tokens_per_second=2, second_per_grid=0.25
    )
    assert quick[0, 3:].tolist() == [3, 3, 4, 4]
    return ", ".join(map(str, with_seconds)), ", ".join(map(str, without))


def _ids(rule: str) -> npt.NDArray[np.int64]:
    return posenc.m_rope_position_ids(
        [[2, 0, 0], [10, 4, 4], [3, 0, 0]], merge_size=2, next_position=rule
    )


def two_versions() -> tuple[str, str]:
    """The start of the last text under each rule, by posenc and by counting."""
    largest, spatial = (int(_ids(rule)[0, -3]) for rule in ("largest", "spatial"))
    assert (largest, spatial) == (2 + max(10, 2, 2), 2 + max(2, 2))
    return f"goes on at {largest}", f"at {spatial}, among"


def apart() -> None:
    """Ids of the video and of the words after it, by axis, under both rules."""
    for rule, axes_apart in (("largest", [True, True, True]), ("spatial", [False, True, True])):
        ids = _ids(rule)
        video, words = ids[:, 2:-3], ids[:, -3:]
        disjoint = [not set(words[axis]) & set(video[axis]) for axis in range(3)]
        assert disjoint == axes_apart
        assert len(np.unique(ids, axis=1).T) == ids.shape[1]
