"""Whether the tests notice when the code is wrong: a sample of what the syntax tree offers."""
