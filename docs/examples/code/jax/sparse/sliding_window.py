import jax.numpy as jnp


def sliding_window(q_len, k_len, window):
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    return (query - window < key) & (key <= query)
