"""Services that labs sell: which of several to buy, and what is behind two published tiers."""
