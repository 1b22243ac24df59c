import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, axes


def staircase() -> Picture:
    """Buckets of distances to the past, for 32 buckets and 128"""
    figure, plot = axes(7.0, 3.2)
    distance = np.arange(0, 141)
    for direction, colour in (("causal", COLOURS[0]), ("bidirectional", COLOURS[1])):
        buckets = posenc.t5_bucket(-distance, direction=direction)
        plot.step(distance, buckets, where="post", color=colour, label=direction)
    for place in (91, 113):
        plot.axvline(place, linestyle=":", linewidth=1)
    plot.set(
        xlabel="distance from query back to key",
        ylabel="bucket",
        xticks=[0, 16, 32, 64, 91, 113, 128],
    )
    plot.legend(loc="lower right")
    return Picture(
        figure,
        "Two staircases. The causal one rises by 1 with each distance up to 15, then in ever wider "
        "steps, and reaches its last bucket, 31, at distance 113. The bidirectional one rises by 1 "
        "up to distance 8, then in wider steps, and reaches 15 at distance 91.",
        "Steps of one distance near the query, then steps that widen in geometric progression. The "
        "last one begins at 113 or 91, not at 128.",
    )


def bias_map() -> Picture:
    """Which bucket each pair of 160 tokens looks up, in both directions"""
    figure, plot = axes(4.4, 3.6)
    place = np.arange(160)
    buckets = posenc.t5_bucket(place - place[:, None])
    image = plot.imshow(buckets, cmap="twilight_shifted", interpolation="nearest")
    plot.set(xlabel="key", ylabel="query")
    figure.colorbar(image, label="bucket", ticks=[0, 8, 15, 24, 31])
    return Picture(
        figure,
        "A square of 160 queries and keys in stripes along the diagonal. Below it the buckets rise "
        "from 0 to 15 in stripes that widen; above it from 17 to 31 in the same way. The two "
        "corners far from the diagonal have one colour each.",
        "Below the diagonal, keys before the query with buckets up to 15; above it, keys after the "
        "query with buckets 17 to 31. Both corners share one bucket each.",
    )


def stairs() -> Moving:
    """The bucket of each distance to a key before the query"""
    distance = np.arange(261)

    def shown(num_buckets: int, max_distance: int) -> Shown:
        bucket_of = posenc.t5_bucket(-distance, num_buckets=num_buckets, max_distance=max_distance)
        buckets = bucket_of.tolist()
        last = num_buckets // 2 - 1
        steps = [(place, bucket) for n, bucket in enumerate(buckets) for place in (n, n + 1)]
        return Shown(
            {"bucket": [steps]},
            f"{last + 1} buckets are for keys before the query. Distances below {(last + 1) // 2} "
            f"have one each; all from {buckets.index(last)} on share the last one.",
        )

    return Moving(
        module="t5-bias",
        sliders=(
            Slider("num_buckets", "num_buckets", (8, 16, 24, 32, 48, 64), 32),
            Slider("max_distance", "max_distance", (32, 64, 96, 128, 192, 256), 128),
        ),
        x=Axis(0, 261, "distance from the query back to the key", range(0, 261, 64)),
        y=Axis(0, 32, "bucket", (0, 8, 16, 24, 32)),
        height=220,
        series=(Series("bucket", "bucket", 0),),
        shown=shown,
        description="A staircase over distances 0 to 260. It rises by 1 with each distance up to 8,"
        " then in steps that get wider, and stays at 15 from distance 91 on.",
        caption="Half of the buckets of bidirectional attention. With more buckets the stairs "
        "get higher, with a larger max_distance longer. The last step begins before "
        "max_distance.",
    )
