"""Why a deployment is slower than predicted: the term that differs, by how much, how surely."""
