"""The scheme files: reading them, checking them, and what they say as plain data."""
