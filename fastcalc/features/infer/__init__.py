"""`infer`: possible explanations of a service's two speeds and two prices."""
