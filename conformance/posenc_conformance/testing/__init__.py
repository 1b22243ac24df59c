"""Assertions that judge a single result in an existing test."""
