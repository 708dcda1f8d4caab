"""The commands that start the servers of a plan: vLLM, SGLang and TensorRT-LLM."""
