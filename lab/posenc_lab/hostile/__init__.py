"""Hostile files and programs, each with the words that its refusal must contain, and a table."""
