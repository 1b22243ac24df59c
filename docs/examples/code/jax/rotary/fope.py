import jax.numpy as jnp


def fope(x, positions, sin_coef, cos_coef, *, original_max_position_embeddings, base=10000.0):
    half, mixed = x.shape[-1] // 2, sin_coef.shape[1]
    frequencies = base ** (-jnp.arange(half) / half)
    turning = frequencies[frequencies * original_max_position_embeddings > 2 * jnp.pi]
    angles = positions[:, None] * turning
    ones = jnp.ones((len(positions), half))  # stay for the pairs that are not mixed
    cos = ones.at[:, :mixed].set(jnp.cos(angles) @ cos_coef)
    sin = ones.at[:, :mixed].set(jnp.sin(angles) @ sin_coef)
    first, second = jnp.split(x, 2, axis=-1)
    turned = [first * cos - second * sin, first * sin + second * cos]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
