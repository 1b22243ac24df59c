import jax.numpy as jnp


def time2vec(x, w, b):
    angles = x @ w + b
    return jnp.concatenate([angles[..., :1], jnp.sin(angles[..., 1:])], axis=-1)
