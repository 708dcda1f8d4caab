"""How fast a model runs on chips: work counted, placed, timed and bounded."""
