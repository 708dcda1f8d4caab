"""`plan`: the cheapest deployment that meets a service level.

Also which limit to relax, what turns the choice, and what chips that are owned sustain.
"""
