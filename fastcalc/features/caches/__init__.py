"""`caches`: prefix-cache hit rates of a trace by cache size, and when the memory pays off."""
