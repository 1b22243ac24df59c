"""Types of models whose queries and keys are not rotated, or that are not read."""
