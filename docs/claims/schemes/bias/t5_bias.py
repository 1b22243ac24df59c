import ml_dtypes
import mpmath
import numpy as np

import posenc


def same_as_logarithm() -> None:
    """The formula with 50 digits against the reference, for three tables and both directions."""
    for buckets, end in ((32, 128), (64, 128), (32, 1024)):
        for direction in ("bidirectional", "causal"):
            side = buckets // 2 if direction == "bidirectional" else buckets
            exact = side // 2
            distance = np.arange(exact, end + 20)
            got = posenc.t5_bucket(
                -distance, direction=direction, num_buckets=buckets, max_distance=end
            )
            with mpmath.workdps(50):
                for n, bucket in zip(distance, got, strict=True):
                    ratio = mpmath.log(mpmath.mpf(int(n)) / exact) / mpmath.log(
                        mpmath.mpf(end) / exact
                    )
                    value = (side - exact) * ratio
                    nearest = mpmath.nint(value)
                    whole = nearest if abs(value - nearest) < 1e-40 else mpmath.floor(value)
                    assert bucket == min(exact + int(whole), side - 1)


def last_buckets() -> tuple[str, str]:
    """The first distance of the last bucket of each direction."""
    distance = np.arange(200)
    both = [posenc.t5_bucket(sign * distance) for sign in (-1, 1)]
    first = {int(np.argmax(buckets == buckets.max())) for buckets in both}
    causal = int(np.argmax(posenc.t5_bucket(-distance, direction="causal") == 31))
    assert len(first) == 1
    return f"distance {first.pop()} in", f"at {causal} when causal"


def unused_bucket() -> str:
    """Offsets from -200 to 200 use all buckets but one."""
    used = posenc.t5_bucket(np.arange(-200, 201))
    (unused,) = set(range(32)) - set(used.tolist())
    return f"bucket {unused} is never used"


def bfloat16_edges() -> str:
    """The formula with each step rounded to bfloat16, and to float32, where it is right."""

    def wrong(dtype: np.dtype) -> list[int]:
        n = np.arange(8, 128)
        part = np.log((n.astype(dtype) / np.array(8, dtype)).astype(dtype)).astype(dtype)
        part = (part / np.log(np.array(16, dtype)).astype(dtype)).astype(dtype)
        bucket = 8 + (part * np.array(8, dtype)).astype(dtype).astype(int)
        right = posenc.t5_bucket(-n)
        assert set((np.minimum(bucket, 15) - right).tolist()) <= {0, 1}
        return [int(distance) for distance in n[np.minimum(bucket, 15) != right]]

    assert wrong(np.dtype(np.float32)) == []
    first, second = wrong(np.dtype(ml_dtypes.bfloat16))
    return f"distances {first} and {second}"


def edges_by_hand() -> tuple[str, str]:
    """Bucket edges from integer squares, and the reference's first distances."""
    shown, starts = [], []
    for k in range(8):
        with mpmath.workdps(50):
            edge = 8 * mpmath.mpf(2) ** (mpmath.mpf(k) / 2)
            cut = int(edge * 10) / 10
            shown.append(str(int(edge)) if k % 2 == 0 else f"{cut}…")
        starts.append(next(n for n in range(200) if n * n >= 64 * 2**k))
    buckets = posenc.t5_bucket(-np.arange(200))
    assert [int(np.argmax(buckets == 8 + k)) for k in range(8)] == starts
    return ", ".join(shown), ", ".join(map(str, starts))
