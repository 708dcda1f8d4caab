"""What answers are made of: columns by name, from points that were evaluated."""
