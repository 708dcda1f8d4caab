"""`list`, `show`, `diff`, `new`, `import` and `schema`: commands on files of the catalogue."""
