"""Calls of a library: how long they may take, and drafts of biases and of batches."""
