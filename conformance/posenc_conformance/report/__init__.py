"""Reporting a run: the card, the report, known failures, differences."""
