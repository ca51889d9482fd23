"""Who runs many rollouts: on this machine, or elsewhere."""
