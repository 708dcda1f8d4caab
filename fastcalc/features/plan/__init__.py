"""`plan`: the cheapest deployment that meets latency targets.

Also which limit to relax, what turns the choice, and what chips that are owned sustain.
"""
