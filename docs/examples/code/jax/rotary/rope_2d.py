import jax.numpy as jnp


def rope_2d(x, positions, *, base=10000.0):
    rows, columns = positions
    pairs = x.shape[-1] // 4  # for each of the two axes
    frequencies = base ** (-jnp.arange(pairs) / pairs)
    angles = jnp.concatenate([columns[:, None] * frequencies, rows[:, None] * frequencies], axis=-1)
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return jnp.stack(turned, axis=-1).reshape(x.shape)
