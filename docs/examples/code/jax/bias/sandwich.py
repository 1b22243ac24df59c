import jax.numpy as jnp


def sandwich_bias(heads, q_len, k_len, *, dim):
    frequencies = 10000.0 ** (-2 * jnp.arange(1, dim // 2 + 1) / dim)
    angles = jnp.arange(k_len)[:, None] * frequencies
    by_distance = jnp.cos(angles).sum(axis=-1) - dim / 2  # 0 for the query's own key
    slopes = heads / (8 * jnp.arange(1, heads + 1))
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    return slopes[:, None, None] * by_distance[jnp.abs(query - key)]
