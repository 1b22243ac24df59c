"""Wrong implementations: Perceiver's Fourier features."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Spread(Mistake, steps=True):
    """Perceiver's Fourier features, in steps."""

    call = "perceiver_fourier"
    claimed = ("perceiver",)

    def answer(
        self,
        x: Array,
        max_resolution: Array,
        num_bands: int,
        *,
        order: str,
        position: str,
        waves: str,
    ) -> Array:
        if num_bands < 1 or x.shape[-1] != len(max_resolution):
            raise ValueError(num_bands)
        bands = np.stack([self.bands(values, num_bands) for values in self.places(max_resolution)])
        angles = self.angles(self.points(x.astype(np.float64)), bands)
        sin, cos = self.waves(angles)
        parts = [sin, cos] if waves == "both" else [sin]
        if order == "by-coordinate":
            copies = [x[..., None]] if position == "last-of-each" else []
            values = np.concatenate([*parts, *copies], axis=-1)
            return values.reshape(*x.shape[:-1], -1).astype(x.dtype)
        flat = self.join(np.stack(parts, axis=-3))
        copies = [x] if position == "first" else []
        return np.concatenate(self.with_position(copies, flat), axis=-1).astype(x.dtype)

    def places(self, max_resolution: Array) -> Array:
        return max_resolution

    def bands(self, places: int, count: int) -> Array:
        return np.linspace(1, places / 2, count)

    def points(self, x: Array) -> Array:
        return x

    def angles(self, x: Array, bands: Array) -> Array:
        return np.pi * x[..., None] * bands

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def join(self, waves: Array) -> Array:
        """Join waves of shape [..., wave, coords, bands] into one axis."""
        return waves.reshape(*waves.shape[:-3], -1)

    def with_position(self, copies: list[Array], waves: Array) -> list[Array]:
        return [*copies, waves]


def _joined(axes: tuple[int, int, int]) -> Any:
    """Return a ``join`` that orders the axes wave (0), coordinate (1) and band (2) by ``axes``."""

    def join(self: Any, waves: Array) -> Array:
        lead = waves.ndim - 3
        turned = waves.transpose(*range(lead), *(lead + axis for axis in axes))
        return turned.reshape(*waves.shape[:-3], -1)

    return join


for _claim in ("perceiver", "bare", "sine-only", "lucidrains"):
    made(
        Spread,
        f"Spread {_claim} in geometric progression",
        "The paper's first version.",
        named="log-bands",
        claimed=(_claim,),
        bands=lambda self, places, count: np.geomspace(1, places / 2, count),
    )
    made(
        Spread,
        f"Spread {_claim} of cosines",
        "Cosines where sines belong.",
        named="waves-swapped",
        claimed=(_claim,),
        waves=lambda self, angles: (np.cos(angles), np.sin(angles)),
    )
    made(
        Spread,
        f"Spread {_claim} up to the resolution",
        "Twice the highest frequency that places can show.",
        named="nyquist-wrong",
        claimed=(_claim,),
        bands=lambda self, places, count: np.linspace(1, places, count),
    )
    made(
        Spread,
        f"Spread {_claim} without π",
        "Positions taken for radians.",
        named="factor-wrong",
        claimed=(_claim,),
        angles=lambda self, x, bands: x[..., None] * bands,
    )

for _claim in ("perceiver", "bare"):
    for _name, _axes in (
        ("band by band", (0, 2, 1)),
        ("coordinate by coordinate", (1, 0, 2)),
        ("in turns", (1, 2, 0)),
    ):
        made(
            Spread,
            f"Spread {_claim} {_name}",
            "The right features in another order.",
            named="order-swapped",
            claimed=(_claim,),
            join=_joined(_axes),
        )

for _name, _named, _steps in (
    (
        "from 2",
        "log-bands",
        {"bands": lambda self, places, count: np.geomspace(2, places / 2, count)},
    ),
    ("in octaves", "octaves", {"bands": lambda self, places, count: 2.0 ** np.arange(count)}),
    ("falling", "octaves", {"bands": lambda self, places, count: 0.5 ** np.arange(count)}),
    (
        "without the last band",
        "last-band-missing",
        {"bands": lambda self, places, count: np.linspace(1, places / 2, count, endpoint=False)},
    ),
    (
        "from 0",
        "last-band-missing",
        {"bands": lambda self, places, count: np.linspace(0, places / 2, count)},
    ),
    (
        "of the first resolution",
        "one-resolution",
        {"places": lambda self, resolution: np.full_like(resolution, resolution[0])},
    ),
    (
        "of the largest resolution",
        "one-resolution",
        {"places": lambda self, resolution: np.full_like(resolution, resolution.max())},
    ),
    (
        "of the other resolutions",
        "one-resolution",
        {"places": lambda self, resolution: resolution[::-1]},
    ),
    ("in 2π", "factor-wrong", {"angles": lambda self, x, bands: 2 * np.pi * x[..., None] * bands}),
    (
        "of the first of the batch",
        "first-of-the-batch",
        {"points": lambda self, x: np.broadcast_to(x[:1], x.shape) if x.ndim > 2 else x},
    ),
    (
        "with the position last",
        "order-swapped",
        {"with_position": lambda self, copies, waves: [waves, *copies]},
    ),
    (
        "of bfloat16 angles",
        "low-precision-angles",
        {"angles": lambda self, x, bands: narrow(Spread.angles(self, x, bands), "bfloat16")},
    ),
    (
        "of bfloat16 angles and waves",
        "low-precision-angles",
        {
            "angles": lambda self, x, bands: narrow(Spread.angles(self, x, bands), "bfloat16"),
            "waves": lambda self, angles: (
                narrow(np.sin(angles), "bfloat16"),
                narrow(np.cos(angles), "bfloat16"),
            ),
        },
    ),
    (
        "of float16 bands",
        "low-precision-angles",
        {"bands": lambda self, places, count: narrow(Spread.bands(self, places, count), "float16")},
    ),
    (
        "of at most 32 bands",
        None,
        {
            "bands": lambda self, places, count: np.pad(
                Spread.bands(self, places, count)[:32], (0, max(0, count - 32)), mode="edge"
            )
        },
    ),
    (
        "of the last of one band",
        None,
        {
            "bands": lambda self, places, count: (
                Spread.bands(self, places, count) if count > 1 else np.array([places / 2])
            )
        },
    ),
    ("moved to a unit square", None, {"points": lambda self, x: (x + 1) / 2}),
    ("clipped", None, {"points": lambda self, x: np.clip(x, -1, 1)}),
    (
        "of a rounded position",
        None,
        {"with_position": lambda self, copies, waves: [narrow(copies[0], "bfloat16"), waves]},
    ),
    ("without a position", None, {"with_position": lambda self, copies, waves: [waves]}),
    (
        "in whole bands",
        None,
        {"bands": lambda self, places, count: np.rint(Spread.bands(self, places, count))},
    ),
):
    made(Spread, f"Spread {_name}", "One step otherwise.", named=_named, **_steps)


class Grid(Mistake, steps=True):
    """Coordinates of grid points, in steps."""

    call = "perceiver_positions"
    claimed = ("ends",)

    def answer(self, index_dims: Array, *, dtype: Any) -> Array:
        axes = [self.axis(int(places)) for places in index_dims]
        grid = np.meshgrid(*axes, indexing="ij")
        return self.join(grid).astype(dtype)

    def axis(self, places: int) -> Array:
        return np.linspace(-1, 1, places)

    def join(self, grid: Any) -> Array:
        return np.stack(grid, axis=-1).reshape(-1, len(grid))


for _name, _named, _steps in (
    (
        "of centers",
        "pixel-centers",
        {"axis": lambda self, places: (2 * np.arange(places) + 1) / places - 1},
    ),
    ("from 0 to 1", "range-wrong", {"axis": lambda self, places: np.linspace(0, 1, places)}),
    ("counted", "range-wrong", {"axis": lambda self, places: np.arange(places) + 0.0}),
    (
        "without an end",
        "end-missing",
        {"axis": lambda self, places: np.linspace(-1, 1, places, endpoint=False)},
    ),
    (
        "of reversed coordinates",
        "axes-swapped",
        {"join": lambda self, grid: Grid.join(self, grid)[:, ::-1]},
    ),
    (
        "of the first axis fastest",
        "axes-swapped",
        {"join": lambda self, grid: np.stack([axis.T for axis in grid], -1).reshape(-1, len(grid))},
    ),
    (
        "with single places in the middle",
        None,
        {"axis": lambda self, places: np.linspace(-1, 1, places) * (places > 1)},
    ),
    (
        "in bfloat16",
        None,
        {"axis": lambda self, places: narrow(np.linspace(-1, 1, places), "bfloat16")},
    ),
):
    made(Grid, f"Grid {_name}", "One step otherwise.", named=_named, **_steps)
