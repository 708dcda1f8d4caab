"""What each trick for fast inference buys and costs, from one serving point."""
