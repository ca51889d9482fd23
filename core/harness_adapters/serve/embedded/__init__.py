"""An engine for machines without a GPU: transformers, many LoRA adapters, one small process."""
