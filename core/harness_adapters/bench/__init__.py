"""How fast the gateway is: each figure beside a direct run to the same engine, in the same run."""
