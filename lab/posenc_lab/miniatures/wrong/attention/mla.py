"""Wrong implementations: logits of multi-head latent attention."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.scaled import by_parts


class Latent(Mistake, steps=True):
    """Two dot products, added and scaled, in steps."""

    call = "mla_scores"
    claimed = ("deepseek",)
    limits: ClassVar = {"scaling": "yarn"}

    def answer(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str, **yarn: Any
    ) -> Array:
        nope, rope = k_nope.shape[-1], k_rope.shape[-1]
        if rope % 2 or q.shape[-1] != nope + rope or q.shape[1] > len(k_rope):
            raise ValueError(f"{q.shape}, {k_nope.shape}, {k_rope.shape}")
        q_nope, q_rope = self.split(q.astype(np.float64), nope, rope)
        omega = self.frequencies(rope, self.base(base), yarn)
        length = self.longer(yarn)
        rows, keys = self.queries(q.shape[1], len(k_rope)), np.arange(len(k_rope))
        turned = self.turned(q_rope, rows, omega, layout) * length
        k_nope, k_rope = self.keys(k_nope.astype(np.float64), self.shared(k_rope))
        key = self.turned(k_rope.astype(np.float64), keys, omega, layout) * length
        logits = q_nope @ np.swapaxes(k_nope, 1, 2) + turned @ np.swapaxes(key, -1, -2)
        return np.asarray((logits * self.scale(nope, rope, yarn)).astype(q.dtype))

    def split(self, q: Array, nope: int, rope: int) -> tuple[Array, Array]:
        return q[..., :nope], q[..., nope:]

    def keys(self, k_nope: Array, k_rope: Array) -> tuple[Array, Array]:
        return k_nope, k_rope

    def base(self, base: float) -> float:
        return base

    def frequencies(self, rope: int, base: float, yarn: dict[str, Any]) -> Array:
        if not yarn:
            return np.asarray(base ** (-np.arange(0, rope, 2) / rope))
        return by_parts(rope, base, yarn["factor"], yarn["original_max_position_embeddings"])

    def grown(self, yarn: dict[str, Any], name: str) -> float:
        return float(1 + 0.1 * yarn[name] * np.log(yarn["factor"])) if yarn else 1.0

    def longer(self, yarn: dict[str, Any]) -> float:
        return self.grown(yarn, "mscale") / self.grown(yarn, "mscale_all_dim")

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def shared(self, k_rope: Array) -> Array:
        return k_rope

    def pairs(self, rope: int, layout: str) -> tuple[Array, Array]:
        every = np.arange(rope)
        if layout == "half":
            return every[: rope // 2], every[rope // 2 :]
        return every[0::2], every[1::2]

    def waves(self, x: Array, places: Array, omega: Array, layout: str) -> tuple[Array, Array]:
        angles = np.empty((len(places), x.shape[-1]))
        for channel in self.pairs(x.shape[-1], layout):
            angles[:, channel] = np.outer(places, omega)
        return np.cos(angles), np.sin(angles)

    def turned(self, x: Array, places: Array, omega: Array, layout: str) -> Array:
        first, second = self.pairs(x.shape[-1], layout)
        cos, sin = self.waves(x, places, omega, layout)
        crossed = np.empty_like(x)
        crossed[..., first], crossed[..., second] = -x[..., second], x[..., first]
        return np.asarray(x * cos + crossed * sin)

    def scale(self, nope: int, rope: int, yarn: dict[str, Any]) -> float:
        return self.grown(yarn, "mscale_all_dim") ** 2 / self.root(nope, rope)

    def root(self, nope: int, rope: int) -> float:
        return float((nope + rope) ** 0.5)


def whole_keys_split(k_nope: Array, k_rope: Array) -> tuple[Array, Array]:
    """Split each key behind its first channels, which are as many as the rotary ones."""
    shared = np.broadcast_to(k_rope, (len(k_nope), *k_rope.shape))
    whole = np.concatenate([k_nope, shared], axis=-1)
    return whole[..., k_rope.shape[-1] :], whole[..., : k_rope.shape[-1]]


for _claimed in ("deepseek", "half"):
    _other = "half" if _claimed == "deepseek" else "interleaved"
    for _name, _named, _steps in (
        (
            "without mscale",
            "mscale-missing",
            {"scale": lambda self, nope, rope, yarn: 1 / self.root(nope, rope)},
        ),
        (
            "with mscale once",
            "mscale-once",
            {
                "scale": lambda self, nope, rope, yarn: (
                    self.grown(yarn, "mscale_all_dim") / self.root(nope, rope)
                )
            },
        ),
        (
            "with mscale for mscale_all_dim",
            "mscale-for-all-dim",
            {
                "scale": lambda self, nope, rope, yarn: (
                    self.grown(yarn, "mscale") ** 2 / self.root(nope, rope)
                )
            },
        ),
        (
            "with mscale on rotary parts",
            "mscale-on-rotary-parts",
            {
                "scale": lambda self, nope, rope, yarn: 1 / self.root(nope, rope),
                "longer": lambda self, yarn: self.grown(yarn, "mscale_all_dim"),
            },
        ),
        (
            "with mscale everywhere",
            "mscale-on-rotary-parts",
            {"longer": lambda self, yarn: self.grown(yarn, "mscale_all_dim")},
        ),
        (
            "without YaRN's frequencies",
            "yarn-ignored",
            {"frequencies": lambda self, rope, base, yarn: base ** (-np.arange(0, rope, 2) / rope)},
        ),
        (
            "unrotated",
            "unrotated",
            {"turned": lambda self, x, places, omega, layout: x},
        ),
        (
            "with the rotary part first",
            "parts-exchanged",
            {"split": lambda self, q, nope, rope: (q[..., rope:], q[..., :rope])},
        ),
        (
            "with the first channels turned",
            "first-channels-turned",
            {
                "split": lambda self, q, nope, rope: (q[..., rope:], q[..., :rope]),
                "keys": lambda self, k_nope, k_rope: whole_keys_split(k_nope, k_rope),
            },
        ),
        (
            "paired otherwise",
            "layout-swapped",
            {"pairs": lambda self, rope, layout, other=_other: Latent.pairs(self, rope, other)},
        ),
        (
            "with waves of other pairs",
            "waves-in-other-layout",
            {
                "waves": lambda self, x, places, omega, layout, other=_other: Latent.waves(
                    self, x, places, omega, other
                )
            },
        ),
        (
            "with queries first",
            "queries-first",
            {"queries": lambda self, q_len, k_len: np.arange(q_len)},
        ),
        (
            "turned backwards",
            "sign-flipped",
            {
                "turned": lambda self, x, places, omega, layout: Latent.turned(
                    self, x, -places, omega, layout
                )
            },
        ),
        ("with base 10,000", "wrong-base", {"base": lambda self, base: 10000.0}),
        (
            "by the root of its content",
            "other-scale",
            {"root": lambda self, nope, rope: nope**0.5},
        ),
        (
            "absorbed",
            "other-scale",
            {"root": lambda self, nope, rope: (4 * nope + rope) ** 0.5},
        ),
        (
            "unscaled",
            "other-scale",
            {"root": lambda self, nope, rope: 1.0},
        ),
        (
            "with keys counted from 1",
            None,
            {
                "turned": lambda self, x, places, omega, layout: Latent.turned(
                    self, x, places + (x.ndim == 2), omega, layout
                )
            },
        ),
        (
            "with the key of the first token",
            None,
            {"shared": lambda self, k_rope: np.broadcast_to(k_rope[:1], k_rope.shape)},
        ),
        (
            "with keys turned already",
            None,
            {
                "turned": lambda self, x, places, omega, layout: (
                    x if x.ndim == 2 else Latent.turned(self, x, places, omega, layout)
                )
            },
        ),
        (
            "with frequencies of the whole query",
            None,
            {
                "frequencies": lambda self, rope, base, yarn: Latent.frequencies(
                    self, rope, base**0.5, yarn
                )
            },
        ),
    ):
        made(
            Latent,
            f"Latent {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_steps,
        )


class LatentOfTheFirstHead(Latent):
    """The first head's k_nope is used for all."""

    def answer(self, q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
        same = np.broadcast_to(k_nope[:1], k_nope.shape)
        return super().answer(q, same, k_rope, **given)


class LatentInFloat16(Latent):
    """Logits are rounded to float16 for float32 queries."""

    def answer(self, q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
        logits = super().answer(q, k_nope, k_rope, **given)
        return logits.astype(np.float16).astype(q.dtype)
