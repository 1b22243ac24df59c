"""Tests that need a real library; ``make real`` installs it and runs them."""
