"""`list`, `show`, `diff`, `new`, `import` and `schema`: the files of the catalogue."""
