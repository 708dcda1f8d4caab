"""`infer`: how a service may achieve the two speeds and two prices it publishes."""
