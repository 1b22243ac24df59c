import numpy as np


class Rope:
    """What an engine builds for a layer of a Llama, from its configuration."""

    def __init__(self, config, layer):
        self.head_dim = config["hidden_size"] // config["num_attention_heads"]
        exponents = np.arange(0, self.head_dim, 2) / self.head_dim
        self.frequencies = config["rope_theta"] ** -exponents
        scaling = config.get("rope_scaling") or {}
        if scaling.get("type") == "llama3":
            self.frequencies = self.scaled(scaling)

    def scaled(self, scaling):
        turns = scaling["original_max_position_embeddings"] * self.frequencies / (2 * np.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        kept = np.clip((turns - low) / (high - low), 0, 1)
        return self.frequencies * (kept + (1 - kept) / scaling["factor"])

    def __call__(self, x, positions):
        angles = np.multiply.outer(positions, self.frequencies)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
