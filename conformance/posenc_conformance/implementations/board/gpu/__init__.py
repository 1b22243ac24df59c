"""Adapters of what runs on a GPU."""
