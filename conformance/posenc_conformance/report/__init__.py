"""Telling what a run found: the card, the report, known failures, differences."""
