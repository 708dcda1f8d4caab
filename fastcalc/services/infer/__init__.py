"""What a service of two tiers may be, from its published speeds and prices."""
