"""The commands that start a plan's servers: vLLM, SGLang, TensorRT-LLM and llama.cpp."""
