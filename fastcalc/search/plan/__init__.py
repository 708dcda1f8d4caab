"""Which chips, how many, how cut and how full: the cheapest deployment that meets a service."""
