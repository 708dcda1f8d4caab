"""An answer as one HTML page that asks nothing of anywhere."""
