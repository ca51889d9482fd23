"""vLLM as our child: started with the right flags, supervised, and gone when we are."""
