"""LlamaIndex's own stores as backends."""
