"""The commands that start the servers of a plan: vLLM, SGLang, TensorRT-LLM and llama.cpp."""
