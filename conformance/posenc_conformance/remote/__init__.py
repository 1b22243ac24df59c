"""Implementations in a process of their own: Python workers, and programs in any language."""
