"""How answers are written: records, prices, notes, tables, terminal text, files, next commands."""
