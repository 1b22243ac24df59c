"""Adapters that come with the kit; each imports its library only when it is made."""
