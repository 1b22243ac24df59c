"""The scheme files: reading them, validating them, and their content as plain data."""
