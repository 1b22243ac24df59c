"""A run of pytest that judges an implementation."""
