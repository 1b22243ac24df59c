"""What models compute: reading their configurations, and what mistakes in reading them cost."""
