"""Assertions for tests that stand already: one result, judged as a golden is."""
