import jax.numpy as jnp


def sinusoidal(positions, dim, *, base=10000.0):
    frequencies = base ** (-jnp.arange(0, dim, 2) / dim)
    angles = positions[:, None] * frequencies
    pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    return pairs.reshape(len(positions), dim)
