"""What the claims about harnesses share: strangers' wheels, whole rollouts, and their cost."""
