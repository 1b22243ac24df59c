"""Pictures of numbers that were judged: data small enough for a report, and SVG drawn from it."""
