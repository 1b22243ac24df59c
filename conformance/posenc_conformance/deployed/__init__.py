"""Judging an engine as it is deployed: with a checkpoint whose scores can be read from outside."""
