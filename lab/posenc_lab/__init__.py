"""The laboratory: what the kit is judged by, and what it was seen to find. It is not shipped."""
