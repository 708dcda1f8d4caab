"""Answers: records, prices and notes, tables, text of the terminal, files, next commands."""
