"""Files and programs that nobody would bring, each with what must be said of it, and a table."""
