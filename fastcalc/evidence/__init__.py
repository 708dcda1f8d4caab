"""Evidence: the measurements and claims against which predictions are tested."""
