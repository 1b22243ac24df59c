import jax
import jax.numpy as jnp


def attention_weights(q, k):
    q_len, k_len = q.shape[-2], k.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    query, key = jnp.arange(k_len - q_len, k_len)[:, None], jnp.arange(k_len)
    return jax.nn.softmax(jnp.where(key > query, -jnp.inf, scores), axis=-1)


def attention(q, k, v):
    return attention_weights(q, k) @ v
