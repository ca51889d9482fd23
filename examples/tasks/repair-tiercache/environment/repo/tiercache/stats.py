"""What a cache has done so far."""

from dataclasses import asdict, dataclass


@dataclass
class Stats:
    hits: int = 0
    misses: int = 0
    expired: int = 0
    evicted: int = 0

    @property
    def hit_rate(self):
        """Share of reads that found something; 0.0 before the first one."""
        reads = self.hits + self.misses
        return self.hits / reads if reads else 0.0

    def as_dict(self):
        return asdict(self) | {"hit_rate": round(self.hit_rate, 4)}
