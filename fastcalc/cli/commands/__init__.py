"""The flags of each command. What runs it is imported when it runs: ``--help`` is quick."""
