"""Deployed engines on the board: each serves the probes of models and is judged."""
