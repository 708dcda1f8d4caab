"""What articles say, tested: claims as data, tests as functions, verdicts from the numbers."""
