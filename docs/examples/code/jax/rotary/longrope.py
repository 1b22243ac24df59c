import jax.numpy as jnp


def longrope_frequencies(factors, *, base=10000.0):
    pairs = len(factors)
    return base ** (-jnp.arange(pairs) / pairs) / jnp.asarray(factors, jnp.float32)
