"""Assertions for existing tests: one result, judged as a golden is."""
