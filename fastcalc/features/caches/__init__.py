"""`caches`: prefix-cache hit rates of a trace by cache size, and when more memory pays off."""
