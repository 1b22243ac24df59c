"""Right implementations: conditional positional encoding of patches."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class ShiftedPictures:
    """The image shifted under each weight in turn, in float32 or float64."""

    @claims("patches", "class-token", dtype=["float64", *NARROW])
    def conv_peg(
        self, x: Array, weight: Array, bias: Array, height: int, width: int, *, class_token: str
    ) -> Array:
        wide: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        first = int(class_token == "first")
        if x.shape[-2] != height * width + first or weight.shape[0] != x.shape[-1]:
            raise ValueError("sizes")
        picture = x[..., first:, :].astype(wide).reshape(*x.shape[:-2], height, width, -1)
        total = np.zeros_like(picture)
        half = weight.shape[-1] // 2
        for down in range(-half, half + 1):
            for across in range(-half, half + 1):
                rows = slice(max(0, -down), min(height, height - down))
                columns = slice(max(0, -across), min(width, width - across))
                if rows.start >= rows.stop or columns.start >= columns.stop:
                    continue
                source = picture[
                    ...,
                    rows.start + down : rows.stop + down,
                    columns.start + across : columns.stop + across,
                    :,
                ]
                total[..., rows, columns, :] += (
                    weight[:, half + down, half + across].astype(wide) * source
                )
        gained = (total + bias.astype(wide)).astype(x.dtype) + picture.astype(x.dtype)
        patches = gained.reshape(*x.shape[:-2], height * width, -1)
        return np.concatenate([x[..., :first, :], patches], axis=-2).astype(x.dtype)


@right
class PictureMatrix:
    """A matrix per channel from all patches to all patches, with the residual on its diagonal."""

    @claims("patches", dtype=FLOATS)
    def conv_peg(self, x: Array, weight: Array, bias: Array, height: int, width: int) -> Array:
        place = np.arange(height * width)
        half = weight.shape[-1] // 2
        down = place // width - (place // width)[:, None] + half
        across = place % width - (place % width)[:, None] + half
        near = (np.minimum(down, across) >= 0) & (np.maximum(down, across) <= 2 * half)
        kernels = weight.astype(np.float64)
        matrices = np.where(near, kernels[:, down * near, across * near], 0.0) + np.eye(len(place))
        out = np.einsum("cij,...jc->...ic", matrices, x.astype(np.float64))
        return (out + bias.astype(np.float64)).astype(x.dtype)


@right
class TokenApart:
    """Windows of a padded image; the class token is split off and put back."""

    @claims("class-token", dtype=["float32", "bfloat16"], kernel=3)
    def conv_peg(self, x: Array, weight: Array, bias: Array, height: int, width: int) -> Array:
        token, patches = np.split(x, [1], axis=-2)
        channels = np.moveaxis(patches, -1, -2).reshape(*x.shape[:-2], -1, height, width)
        around = [(0, 0)] * (channels.ndim - 2) + [(1, 1), (1, 1)]
        padded = np.pad(channels.astype(np.float32), around)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(-2, -1))
        moved = np.einsum("...chwst,cst->...chw", windows, weight.astype(np.float32))
        moved = (moved + bias.astype(np.float32)[:, None, None]).astype(x.dtype) + channels
        return np.concatenate(
            [token, np.moveaxis(moved.reshape(*x.shape[:-2], -1, height * width), -1, -2)], axis=-2
        )
