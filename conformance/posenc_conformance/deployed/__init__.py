"""Judging an engine as it is deployed: by a checkpoint whose scores can be read from outside."""
