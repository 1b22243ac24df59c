"""The laboratory, not shipped: code that judges the kit and records what the kit detects."""
