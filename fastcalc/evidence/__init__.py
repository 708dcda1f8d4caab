"""Evidence: measurements and claims against which predictions are tested."""
