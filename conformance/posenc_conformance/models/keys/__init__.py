"""The keys of a file, for messages about it, and the names that this package uses for them."""
