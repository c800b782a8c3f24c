"""Starting, stopping, dying and running out of things. CASES FS-43; kill -9, descriptors, disk, data folder."""

import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario
from lib.server import BINARY, Server

LIMITS = {"limits": UNLIMITED}


class Buyers:
    """A steady stream of buyers that logs every answer a client saw."""

    def __init__(self, server, sale, threads=8):
        self.server, self.sale = server, sale
        self.accepted, self.lost, self.lock = [], [], threading.Lock()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(threads)]

    def run(self, lane):
        count = 0
        while not self.stopping.is_set():
            buyer, request_id = f"k{lane}-{count}", str(uuid.uuid4())
            count += 1
            try:
                answer = self.server.buy(buyer, self.sale, request_id=request_id)
                if answer.status in (200, 202):
                    with self.lock:
                        self.accepted.append((buyer, request_id, answer.json["ticket"]))
            except (OSError, http.Closed):
                with self.lock:
                    self.lost.append((buyer, request_id))
                time.sleep(0.01)

    def have_accepted(self, count):
        """Waits until that many purchases were acknowledged, however slow the machine is."""
        return http.eventually(lambda: len(self.accepted) >= count, within=60)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


class Killed(Scenario):
    options = {"extra": LIMITS}

    def test_kill_9_at_any_moment_keeps_every_acknowledged_ticket(self):
        sale = self.server.sale(total=100_000)
        for _ in range(4):
            with Buyers(self.server, sale) as buyers:
                self.assertTrue(buyers.have_accepted(20))
                time.sleep(random.random() / 5)
                self.server.kill()
            self.server.start()
            for buyer, request_id, ticket in buyers.accepted:
                outcome = self.server.outcome(buyer, sale, ticket)
                self.assertEqual((outcome.status, outcome.json["state"]), (200, "ordered"), (buyer, ticket))
            for buyer, request_id in buyers.lost[:50]:
                answer = self.server.buy_patiently(buyer, sale, request_id=request_id)
                self.assertIn(answer.json["reason"], ("admitted", "replayed"))
                self.assertEqual(len(self.server.orders(buyer, sale)), 1)
            self.check_at_quiet(sale)

    def test_kill_9_while_orders_end_neither_loses_nor_doubles_a_unit(self):
        sale = self.server.sale(total=400, lanes=4)
        held = [(f"c{i}", self.server.buy(f"c{i}", sale).json["ticket"]) for i in range(300)]
        answered = {}

        def finish(buyer, ticket, i):
            try:
                answer = (self.server.cancel if i % 2 else self.server.pay)(buyer, ticket)
                if answer.status == 200:
                    answered[ticket] = answer.json["state"]
            except (OSError, http.Closed):
                pass

        killer = threading.Timer(0.25, self.server.kill)
        killer.start()
        http.together([lambda b=b, t=t, i=i: finish(b, t, i) for i, (b, t) in enumerate(held)], threads=8)
        killer.join()
        self.server.start()
        for buyer, ticket in held:
            state = self.server.outcome(buyer, sale, ticket).json["order_state"]
            self.assertEqual(answered.get(ticket, state), state)
        stock = self.server.show(sale)["items"][0]["stock"]
        kept = sum(o["units"] for o in self.all_orders(sale) if o["state"] in ("awaiting_payment", "paid"))
        self.assertEqual(sum(lane["available"] for lane in stock["lanes"]), 400 - kept)
        self.check_at_quiet(sale, held)


class Terminated(unittest.TestCase):
    def test_FS_43_sigterm_answers_what_was_taken_and_exits_with_0(self):
        server = Server(extra=LIMITS).start()
        try:
            sale = server.sale(total=100_000)
            for _ in range(3):
                with Buyers(server, sale) as buyers:
                    self.assertTrue(buyers.have_accepted(20))
                    self.assertEqual(server.terminate(), 0, server.log_text()[-2000:])
                server.start()
                for buyer, _, ticket in buyers.accepted:
                    self.assertEqual(server.outcome(buyer, sale, ticket).json["state"], "ordered")
            server.stop()
        finally:
            server.cleanup()

    def test_FS_43_readiness_falls_before_the_listener_closes(self):
        server = Server(extra={**LIMITS, "drain_delay": "1500ms"}).start()
        try:
            sale = server.sale(total=100)
            server.process.send_signal(signal.SIGTERM)
            fell = http.eventually(lambda: http.once(server.admin_port, "GET", "/readyz").status == 503, within=1.2, every=0.02)
            self.assertTrue(fell)
            self.assertEqual(server.buy("late", sale).status, 202, "what still arrives while draining is served")
            self.assertEqual(server.process.wait(timeout=30), 0)
        finally:
            server.cleanup()

    def test_FS_43_keep_alive_ends_with_close_while_draining(self):
        server = Server(extra={**LIMITS, "drain_delay": "1s"}).start()
        try:
            connection = http.Connection(server.port)
            self.assertEqual(connection.request("GET", "/api/v1/time").status, 200)
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(connection.at_end(within=15) or True)
            self.assertEqual(server.process.wait(timeout=30), 0)
        finally:
            server.cleanup()


class RunningOut(unittest.TestCase):
    def test_descriptors_run_out_and_come_back(self):
        server = Server(extra=LIMITS, descriptors=96).start()
        try:
            sale = server.sale(total=100)
            crowd = []
            for _ in range(150):
                try:
                    crowd.append(http.Connection(server.port, timeout=2))
                except OSError:
                    break
            for connection in crowd:
                connection.close()
            answer = http.eventually(lambda: self._try(server, sale), within=20, every=0.3)
            self.assertTrue(answer, "purchases succeed once descriptors are free again")
            self.assertIsNone(server.process.poll())
            server.stop()
        finally:
            server.cleanup()

    @staticmethod
    def _try(server, sale):
        try:
            return server.buy(f"b{uuid.uuid4().hex}", sale).status == 202
        except (OSError, http.Closed):
            return False

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_full_disk_answers_busy_loses_nothing_and_recovers(self):
        folder = tempfile.mkdtemp(prefix="seckill-full-")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True)
        if mounted.returncode != 0:
            shutil.rmtree(folder)
            self.skipTest("tmpfs cannot be mounted here")
        server = Server(extra={**LIMITS, "data_dir": folder + "/data"}).start()
        try:
            sale = server.sale(total=100_000)
            accepted = [(b, server.buy(b, sale).json["ticket"]) for b in (f"a{i}" for i in range(20))]
            filler = pathlib.Path(folder, "filler")
            with open(filler, "wb", buffering=0) as out:
                try:
                    while True:
                        out.write(b"\0" * 4096)
                except OSError:
                    pass
            answers, unknown = [], []
            for i in range(400):
                buyer, request_id = f"f{i}", str(uuid.uuid4())
                answer = server.buy(buyer, sale, request_id=request_id)
                answers.append(answer)
                if answer.status == 202:
                    accepted.append((buyer, answer.json["ticket"]))
                elif answer.status == 503:
                    unknown.append((buyer, request_id))
                    if len(unknown) >= 5:
                        break
                else:
                    self.fail(answer)
            self.assertTrue(unknown, "the disk was full, yet nobody was told busy")
            self.assertEqual(server.get("/api/v1/time").status, 200)
            filler.unlink()
            self.assertTrue(http.eventually(lambda: server.buy(f"r{uuid.uuid4().hex}", sale).status == 202, within=20), "recovers by itself")
            for buyer, request_id in unknown:
                self.assertIn(server.buy_patiently(buyer, sale, request_id=request_id).status, (200, 202))
                self.assertEqual(len(server.orders(buyer, sale)), 1)
            for buyer, ticket in accepted:
                self.assertEqual(server.outcome(buyer, sale, ticket).json["state"], "ordered")
            verdict = http.eventually(lambda: (lambda v: v if v.get("drained") else None)(server.verdict(sale)), within=10)
            self.assertTrue(verdict and all(p["holds"] for p in verdict["promises"]), verdict)
            server.stop()
        finally:
            server.cleanup()
            subprocess.run(["umount", "-l", folder], capture_output=True)
            shutil.rmtree(folder, ignore_errors=True)


class Refusals(unittest.TestCase):
    """What cannot start says so in one sentence and with a non-zero exit code."""

    def spawn(self, server):
        server.spawn()
        code = server.process.wait(timeout=30)
        return code, server.log_text()

    def test_a_second_process_on_the_same_data_folder(self):
        first = Server().start()
        try:
            second = Server(folder=None, extra={"data_dir": str(first.folder / "data")})
            code, text = self.spawn(second)
            self.assertNotEqual(code, 0)
            self.assertIn("in use", text)
            self.assertTrue(first.is_ready())
            second.cleanup()
            first.stop()
        finally:
            first.cleanup()

    def database_file(self, server):
        return [f for f in (server.folder / "data").iterdir() if f.name.endswith((".db", ".sqlite", ".sqlite3"))][0]

    def test_a_corrupted_database(self):
        server = Server().start()
        try:
            server.sale(total=10)
            self.assertEqual(server.terminate(), 0)
            file = self.database_file(server)
            file.write_bytes(b"this is not a database" * 1000)
            for extra in file.parent.glob(file.name + "-*"):
                extra.unlink()
            code, text = self.spawn(server)
            self.assertNotEqual(code, 0)
            self.assertIn(file.name, text)
            self.assertIn("backup", text)
        finally:
            server.cleanup()

    def test_a_database_of_a_newer_version(self):
        server = Server().start()
        try:
            self.assertEqual(server.terminate(), 0)
            with sqlite3.connect(self.database_file(server)) as database:
                database.execute("INSERT INTO schema_version (version, name, applied_at) VALUES (9999, 'later', 0)")
            code, text = self.spawn(server)
            self.assertNotEqual(code, 0)
            self.assertIn("newer", text)
        finally:
            server.cleanup()

    def test_a_taken_port_names_the_port(self):
        first = Server().start()
        try:
            second = Server()
            second.port = first.port
            code, text = self.spawn(second)
            self.assertNotEqual(code, 0)
            self.assertIn(str(first.port), text)
            self.assertIn("in use", text)
            second.cleanup()
            first.stop()
        finally:
            first.cleanup()

    def test_configuration_reports_every_problem_at_once(self):
        server = Server(demo=False, extra={"buyer": {"port": 99999, "treads": 2}, "login": {"alg": "none"}, "limits": {"buyer_bucket_capacity": -1}, "colour": "red"})
        try:
            code, text = self.spawn(server)
            self.assertEqual(code, 2)
            for word in ("99999", "treads", "alg", "buyer_bucket_capacity", "colour"):
                self.assertIn(word, text)
        finally:
            server.cleanup()

    def test_default_secrets_are_refused_outside_demo_mode(self):
        for section, values in (("login", {"alg": "HS256", "secret": "secret"}), ("admin", {"operator_token": "changeme"}), ("login", {"alg": "HS256", "secret": None})):
            server = Server(demo=False, extra={section: values})
            try:
                code, text = self.spawn(server)
                self.assertEqual(code, 2, text)
                self.assertNotIn("changeme", text.replace('"changeme"', ""))
            finally:
                server.cleanup()

    def test_demo_routes_do_not_exist_outside_demo_mode(self):
        server = Server(demo=False).start()
        try:
            sale = server.sale(total=10)
            ticket = server.buy("u1", sale).json["ticket"]
            self.assertEqual(server.pay("u1", ticket).status, 404)
            self.assertEqual(http.once(server.port, "POST", "/api/v1/demo/logins", {"buyer": "x"}).status, 404)
            server.stop()
        finally:
            server.cleanup()

    def test_usage_errors_exit_with_2(self):
        for args in (["serve", "--nope"], ["frobnicate"], ["serve", "--config", "/nonexistent.yaml"]):
            done = subprocess.run([BINARY, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
            self.assertEqual(done.returncode, 2, (args, done.stdout, done.stderr))
            self.assertTrue(done.stderr.strip() or done.stdout.strip())


class Backup(Scenario):
    options = {"extra": LIMITS}

    def test_a_backup_taken_while_selling_is_a_whole_database(self):
        sale = self.server.sale(total=1000)
        for i in range(20):
            self.server.buy(f"b{i}", sale)
        target = self.server.folder / "copy.db"
        self.assertEqual(self.server.admin("POST", "/admin/v1/backup", {"path": str(target)}).status, 200)
        again = self.server.admin("POST", "/admin/v1/backup", {"path": str(target)})
        self.assertEqual(again.status, 409, "a backup never overwrites")
        with sqlite3.connect(target) as copy:
            self.assertEqual(copy.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            self.assertEqual(copy.execute("SELECT count(*) FROM seckill_order").fetchone()[0], 20)
        self.assertEqual(target.stat().st_mode & 0o077, 0)
        self.check_at_quiet(sale)


if __name__ == "__main__":
    unittest.main()
