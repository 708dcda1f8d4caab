"""How chips share a model: layouts, what fits, and which memory holds what."""
