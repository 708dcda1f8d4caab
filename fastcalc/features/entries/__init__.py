"""`list`, `show`, `diff`, `new`, `import` and `schema`: commands for catalogue files."""
