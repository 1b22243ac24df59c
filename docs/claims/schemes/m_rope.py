import numpy as np
import numpy.typing as npt

import posenc


def _axes(sections: list[int], allocation: str) -> str:
    """Letter of each pair, from what posenc turns when one position alone is 1."""
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
    """The letters of all 64 pairs, from posenc's turned vectors, in both allocations."""
    assert _axes([16, 24, 24], "contiguous") == 16 * "T" + 24 * "H" + 24 * "W"
    assert _axes([24, 20, 20], "interleaved") == 20 * "THW" + "TTTT"


def _ids(rule: str) -> npt.NDArray[np.int64]:
    return posenc.m_rope_position_ids(
        [[2, 0, 0], [10, 4, 4], [3, 0, 0]], merge_size=2, next_position=rule
    )


def two_versions() -> tuple[str, str]:
    """Where the last text starts under each rule, by posenc, and by counting."""
    largest, spatial = (int(_ids(rule)[0, -3]) for rule in ("largest", "spatial"))
    assert (largest, spatial) == (2 + max(10, 2, 2), 2 + max(2, 2))
    return f"goes on at {largest}", f"at {spatial}, among"


def apart() -> None:
    """Ids of the video and of the words after it, axis by axis, under both rules."""
    for rule, axes_apart in (("largest", [True, True, True]), ("spatial", [False, True, True])):
        ids = _ids(rule)
        video, words = ids[:, 2:-3], ids[:, -3:]
        found = [not set(words[axis]) & set(video[axis]) for axis in range(3)]
        assert found == axes_apart
