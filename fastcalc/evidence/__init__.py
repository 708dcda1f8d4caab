"""Evidence: the measurements and claims used to test predictions."""
