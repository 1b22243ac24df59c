"""Naming what is wrong with a result."""
