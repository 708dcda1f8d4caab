"""`caches`: prefix-cache hit rate of a trace by cache size, and when more memory pays off."""
