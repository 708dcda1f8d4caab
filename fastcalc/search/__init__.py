"""Many points of one scenario: its layouts, the batch at a speed, and what no other point beats."""
