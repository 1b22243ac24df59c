"""The meaning of models' configurations, and the cost of mistakes in reading them."""
