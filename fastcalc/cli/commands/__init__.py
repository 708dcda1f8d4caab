"""What each command takes. What it needs is imported when it runs: ``--help`` is quick."""
