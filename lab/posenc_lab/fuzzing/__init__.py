"""Files and replies that nobody would write, given to everything in the kit that reads."""
