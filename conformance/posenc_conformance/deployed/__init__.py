"""Judging an engine as deployed, by a checkpoint whose scores can be read from outside."""
