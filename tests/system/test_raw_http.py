"""Requests that no browser sends. CASES FS-55, FS-56, FS-62."""

import threading
import time
import unittest
import uuid

from lib import http
from lib.case import UNLIMITED, Scenario

WIDE = {"extra": {"limits": UNLIMITED,
                  "buyer": {"header_timeout": "2s", "body_timeout": "2s", "idle_timeout": "3s"}}}


class Framing(Scenario):
    options = WIDE

    def hidden(self, sale, buyer):
        return http.render("POST", f"/api/v1/sales/{sale}/items/sku1/purchases", {"quantity": 1},
                           {**self.server.login(buyer), "Idempotency-Key": str(uuid.uuid4())})

    def test_FS_62_ambiguous_lengths_are_refused_and_the_hidden_request_never_runs(self):
        sale = self.server.sale(total=50)
        path = f"/api/v1/sales/{sale}/items/sku1/purchases".encode()
        login = self.server.login("front")["Authorization"].encode()
        start = b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nAuthorization: " + login + b"\r\nIdempotency-Key: k\r\n"
        hidden = self.hidden(sale, "hidden")
        forms = {
            "CL then TE": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "TE then CL": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "two equal CL": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            "two other CL": b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}",
            "CL list": b"Content-Length: 2, 2\r\n\r\n{}", "CL plus": b"Content-Length: +2\r\n\r\n{}", "CL space": b"Content-Length: 2 2\r\n\r\n{}",
            "CL minus": b"Content-Length: -1\r\n\r\n{}", "CL hex": b"Content-Length: 0x2\r\n\r\n{}", "CL empty": b"Content-Length: \r\n\r\n{}",
            "CL huge": b"Content-Length: " + b"9" * 20 + b"\r\n\r\n{}",
            "TE gzip": b"Transfer-Encoding: gzip\r\n\r\n{}", "TE gzip, chunked": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "TE chunked twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "TE identity": b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
            "TE two headers": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
            "TE spaced name": b"Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}", "TE tab": b"Transfer-Encoding:\x0bchunked\r\nContent-Length: 2\r\n\r\n{}",
            "folded": b"X-A: b\r\n Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}",
            "no value": b"Content-Length 2\r\n\r\n{}",
        }
        for what, rest in forms.items():
            connection = http.Connection(self.server.port)
            connection.send(start + rest + hidden)
            try:
                answer = connection.read_response()
                self.assertIn(answer.status, (400, 413, 431, 501), (what, answer))
                self.assertTrue(connection.at_end(), what)
            except (http.Closed, ConnectionResetError):
                pass
            connection.close()
        old = http.Connection(self.server.port)
        old.send(b"POST " + path + b" HTTP/1.0\r\nHost: a\r\nAuthorization: " + login + b"\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden)
        self.assertEqual(old.read_response().status, 400)
        self.assertTrue(old.at_end())
        self.assertEqual(self.server.orders("hidden"), [])
        self.assertEqual(self.server.orders("front"), [])
        self.assert_answer(self.server.buy("hidden", sale), 202, "admitted")
        self.check_at_quiet(sale)

    def test_chunked_bodies_and_pipelining_work(self):
        sale = self.server.sale(total=50)
        path = f"/api/v1/sales/{sale}/items/sku1/purchases"
        connection = http.Connection(self.server.port)
        head = http.render("POST", path, None, {**self.server.login("c1"), "Idempotency-Key": "c1", "Transfer-Encoding": "chunked"})
        connection.send(head + b"3\r\n{\"q\r\n7;x=y\r\nuantity\r\n4\r\n\":1}\r\n0\r\n\r\n" + self.hidden(sale, "c2") + http.render("GET", "/api/v1/time"))
        self.assert_answer(connection.read_response(), 202, "admitted")
        self.assert_answer(connection.read_response(), 202, "admitted")
        self.assertIn("now_ms", connection.read_response().json)
        connection.close()
        self.check_at_quiet(sale)

    def test_FS_55_sizes_are_bounded_for_plain_and_chunked_alike(self):
        sale = self.server.sale(total=50)
        before = self.server.resident_kib()
        path = f"/api/v1/sales/{sale}/items/sku1/purchases".encode()
        attempts = {
            "one long header": b"GET /api/v1/time HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1_000_000,
            "many headers": b"GET /api/v1/time HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100_000,
            "long target": b"GET /" + b"a" * 1_000_000,
            "big length": b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1000,
            "endless chunks": b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 1024 + b"\r\n" + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 200,
            "chunk extension": b"POST " + path + b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"e" * 1_000_000,
            "endless first line": b"A" * 1_000_000,
        }

        def attempt(data):
            connection = http.Connection(self.server.port)
            try:
                try:
                    connection.send(data)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                try:
                    return connection.read_response().status
                except (http.Closed, ConnectionResetError):
                    return 0
            finally:
                connection.close()

        for what, data in attempts.items():
            statuses = http.together([lambda d=data: attempt(d)] * 20)
            for status in statuses:
                self.assertIn(status, (0, 400, 401, 413, 414, 431), (what, status))
        self.assertLess(self.server.resident_kib() - before, 64 * 1024, "memory stays bounded")
        self.assert_answer(self.server.buy("honest", sale), 202, "admitted")
        self.check_at_quiet(sale)


class Slow(Scenario):
    options = WIDE

    def test_FS_56_slow_and_silent_clients_are_closed_and_honest_ones_served(self):
        sale = self.server.sale(total=200)
        base = self.server.descriptors_open()
        slow_head = [http.Connection(self.server.port) for _ in range(60)]
        slow_body = [http.Connection(self.server.port) for _ in range(60)]
        idle = [http.Connection(self.server.port) for _ in range(60)]
        for connection in slow_head:
            connection.send(b"POST /api/v1/time HT")
        for connection in slow_body:
            connection.send(b"POST /api/v1/sales/x/items/y/purchases HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        stop = threading.Event()

        def drip():
            while not stop.is_set():
                for connection in slow_head + slow_body:
                    try:
                        connection.send(b"x")
                    except OSError:
                        pass
                time.sleep(0.5)

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        answers = [self.server.buy(f"honest{i}", sale) for i in range(50)]
        self.assertEqual(self.reasons(answers), {"admitted": 50})
        gone = http.eventually(lambda: self.server.descriptors_open() <= base + 5, within=20)
        stop.set()
        dripping.join()
        self.assertTrue(gone, f"{self.server.descriptors_open()} descriptors open, {base} before")
        for connection in slow_head + slow_body + idle:
            connection.close()
        self.check_at_quiet(sale)

    def test_FS_56_a_client_that_never_reads_does_not_hold_memory_or_others(self):
        sale = self.server.sale(total=50)
        deaf = [http.Connection(self.server.port) for _ in range(20)]
        request = http.render("GET", f"/api/v1/sales/{sale}")
        before = self.server.resident_kib()
        for connection in deaf:
            connection.sock.setblocking(False)
            try:
                for _ in range(5000):
                    connection.sock.send(request)
            except (BlockingIOError, OSError):
                pass
        self.assert_answer(self.server.buy("honest", sale), 202, "admitted")
        self.assertLess(self.server.resident_kib() - before, 64 * 1024)
        for connection in deaf:
            connection.close()
        self.check_at_quiet(sale)


if __name__ == "__main__":
    unittest.main()
