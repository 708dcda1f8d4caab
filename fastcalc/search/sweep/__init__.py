"""Many points at once: open grids of layouts, traffic and batches, block by block."""
