import jax
import jax.numpy as jnp


def data_dependent_alibi_bias(gates, q_len):
    k_len = gates.shape[-1]
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    sums = jnp.cumsum(jax.nn.log_sigmoid(gates), axis=-1)
    bias = sums[:, k_len - q_len :, None] - sums[:, None, :]
    return jnp.where(key <= query, bias, -jnp.inf)
