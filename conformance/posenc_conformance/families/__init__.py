"""Shared code of the schemes of a family."""
