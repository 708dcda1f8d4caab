"""A chip under an engine: rates, memory tiers, reserve and number formats."""
