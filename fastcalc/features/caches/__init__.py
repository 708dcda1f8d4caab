"""`caches`: what prefix caches of each size hit of a trace, and when their memory pays."""
