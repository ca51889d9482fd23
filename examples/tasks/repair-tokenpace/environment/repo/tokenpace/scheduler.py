"""Jobs on channels, each with a limit of its own."""

from itertools import count

from tokenpace.bucket import Bucket
from tokenpace.waiting import Job, Line


class Scheduler:
    """:param limits: channel -> limit as a text."""

    def __init__(self, limits):
        self._buckets = {name: Bucket.from_text(text) for name, text in limits.items()}
        self._lines = {name: Line() for name in limits}
        self._numbers = count()

    def add(self, channel, name, priority=0, cost=1):
        """Put a job in line.

        :raises KeyError: there is no such channel.
        :raises ValueError: the job costs nothing, or more than the channel ever has at once.
        """
        burst = self._buckets[channel].limit.burst
        if not 1 <= cost <= burst:
            raise ValueError(f"cost must be 1 to {burst}, not {cost}")
        self._lines[channel].add(Job(priority, next(self._numbers), name, cost))

    def cancel(self, name):
        """Take the jobs of that name out of all lines; gives their number."""
        return sum(line.remove(name) for line in self._lines.values())

    def due(self, now):
        """The names of the jobs that go now, in order; they leave their lines. A job that must
        wait holds back those behind it on its channel."""
        going = []
        for channel, line in self._lines.items():
            bucket = self._buckets[channel]
            while (job := line.first()) and bucket.take(job.cost, now):
                going.append(line.pop())
        return [job.name for job in sorted(going)]

    def next_due(self, now):
        """Seconds until the next job can go, or None when none waits."""
        waits = [
            self._buckets[channel].wait(job.cost, now)
            for channel, line in self._lines.items()
            if (job := line.first())
        ]
        return min(waits, default=None)

    def pending(self):
        """Channel -> number of jobs in line."""
        return {channel: len(line) for channel, line in self._lines.items()}
