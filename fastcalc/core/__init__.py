"""How fast a model runs on chips: work counted, placed, timed and bounded, for every batch at once."""
