"""Adapters that only the scoreboard needs; the wheel leaves them out."""
