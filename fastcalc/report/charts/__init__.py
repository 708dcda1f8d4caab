"""Charts: what each draws as plain arrays, and how it is drawn, whatever draws it."""
