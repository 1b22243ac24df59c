import jax.numpy as jnp


def causal_mask(q_len, k_len):
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    return key <= query
