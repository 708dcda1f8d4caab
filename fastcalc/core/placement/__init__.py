"""How chips share a model: layouts, what fits, and what lives in which memory."""
