"""GGUF models through llama.cpp: profiles, the embedder and both kinds of reranker."""
