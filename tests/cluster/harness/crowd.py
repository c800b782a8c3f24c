"""Buyers who keep coming while a test breaks something."""

import threading
import time
import uuid

from . import paths  # noqa: F401
from lib import http


class Crowd(threading.Thread):
    """Buyers who keep coming until told to stop, each with one request id that is repeated until it is answered.

    `answers` is complete when the thread has ended: (buyer, answer or exception)."""

    def __init__(self, scenario, sale, clients, buyers, threads=8, within=90.0):
        super().__init__(daemon=True)
        self.jobs = [lambda i=i, buyer=buyer: self._buy(clients, i, buyer, sale, within) for i, buyer in enumerate(buyers)]
        self.buyers = buyers
        self.threads = threads
        self.scenario = scenario
        self.sale = sale
        self.done = 0
        self.answers = []
        self.start()

    def _buy(self, clients, index, buyer, sale, within):
        """A lost connection or a 503 says nothing: the same request id goes to the next node."""
        request = str(uuid.uuid4())
        end = time.monotonic() + within
        turn = index
        while True:
            try:
                answer = clients[turn % len(clients)].buy(buyer, sale, request_id=request)
                if answer.status not in (429, 502, 503, 504) or time.monotonic() > end:
                    self.done += 1
                    return answer
            except (OSError, http.Closed):
                if time.monotonic() > end:
                    raise
            turn += 1
            time.sleep(0.1)

    def run(self):
        self.answers = list(zip(self.buyers, http.together(self.jobs, self.threads)))

    def wait_for(self, count, within=60):
        """Until so many have been answered."""
        self.scenario.assertTrue(http.eventually(lambda: self.done >= count, within=within), f"only {self.done} were answered")

    def finish(self, within=180):
        self.join(within)
        self.scenario.assertFalse(self.is_alive(), f"the crowd hangs after {self.done} answers")
        self.scenario.remember(self.sale, self.answers)
        return self.answers
