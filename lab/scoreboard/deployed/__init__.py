"""Engines as they are deployed, on the board: each serves the probes of models and is judged."""
