"""`infer`: what two speeds and two prices of one service leave open."""
