"""Programs that are judged: small, and most of them ill-behaved."""
