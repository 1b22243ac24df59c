import jax
import jax.numpy as jnp

from posenc_conformance import claims


@jax.jit
def rope(x, positions, base):
    half = x.shape[-1] // 2
    frequencies = base ** -(jnp.arange(half, dtype=jnp.float32) / half)
    angle = positions[:, None].astype(jnp.float32) * frequencies
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    turned = jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1)
    return turned.astype(x.dtype)


@jax.jit
def rope_vjp(gradient, positions, base):
    _, backward = jax.vjp(lambda x: rope(x, positions, base), gradient)
    return backward(gradient)[0]


class Adapter:
    @claims(layout="half", dtype=["float32", "bfloat16", "float16"])
    def rope(self, x, positions, *, base):
        return rope(x, positions, base)

    @claims(layout="half", dtype=["float32", "bfloat16", "float16"])
    def rope_vjp(self, gradient, positions, *, base):
        return rope_vjp(gradient, positions, base)
