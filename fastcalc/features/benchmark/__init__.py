"""`measure`: recommend benchmark runs of the user's own server, print their commands, run them."""
