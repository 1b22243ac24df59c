"""Naming the mistake in a wrong result."""
