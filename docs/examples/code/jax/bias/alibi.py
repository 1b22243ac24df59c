import jax.numpy as jnp


def alibi_slopes(heads):
    power = 1 << (heads.bit_length() - 1)  # the power of two at or below
    slopes = 2.0 ** (-8 * jnp.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * jnp.arange(1, 2 * (heads - power), 2) / power)
    return jnp.concatenate([slopes, between])


def alibi_bias(heads, q_len, k_len):
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    return alibi_slopes(heads)[:, None, None] * (key - query)
