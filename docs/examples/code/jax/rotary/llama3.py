import jax.numpy as jnp


def llama3_frequencies(
    rotary_dim,
    *,
    base=500000.0,
    factor,
    low_freq_factor,
    high_freq_factor,
    original_max_position_embeddings,
):
    frequencies = base ** (-jnp.arange(0, rotary_dim, 2) / rotary_dim)
    turns = original_max_position_embeddings * frequencies / (2 * jnp.pi)
    kept = jnp.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return frequencies * (kept + (1 - kept) / factor)
