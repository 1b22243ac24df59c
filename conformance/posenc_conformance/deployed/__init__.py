"""Judging an engine as deployed, with a checkpoint whose attention scores can be read from outside."""
