"""Which of several services to buy: runs of an agent, who wins, and what flips it."""
