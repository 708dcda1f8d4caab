"""Chips as an engine sees them: rates, memory tiers, reserved memory and number formats."""
