import jax.numpy as jnp


def rope(x, positions, *, base=10000.0):
    head_dim = x.shape[-1]
    frequencies = base ** (-jnp.arange(0, head_dim, 2) / head_dim)
    angles = positions[:, None] * frequencies
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return jnp.stack(turned, axis=-1).reshape(x.shape)
