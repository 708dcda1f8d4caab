"""Evidence: measurements and claims, to hold predictions against."""
