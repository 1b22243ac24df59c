"""The laboratory: what judges the kit, and what the kit was found to detect. Not shipped."""
