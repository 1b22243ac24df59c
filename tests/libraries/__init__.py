"""Miniatures of libraries, as ``posenc init`` meets them: a module with functions and classes."""
