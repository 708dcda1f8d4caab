"""`plot`: charts of any answer, in a file or in the terminal, also over numbers of files."""
