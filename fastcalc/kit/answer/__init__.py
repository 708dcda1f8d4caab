"""Answers: records, prices, notes, tables, terminal text, files, next commands."""
