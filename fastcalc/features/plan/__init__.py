"""`plan`: the cheapest deployment that meets latency targets.

It also says which limit to relax, what would change the choice, and what owned chips sustain.
"""
