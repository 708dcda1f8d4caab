"""`check`: what is wrong or doubtful in hardware, model and engine files, by `rules`."""
