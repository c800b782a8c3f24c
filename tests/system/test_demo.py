"""`seckill demo`: a stranger's first minute, and what may be wrong with his machine."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from lib.server import BINARY

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def demo(*args, environment=None, preexec=None, timeout=180):
    return subprocess.run([BINARY, "demo", "--exit", "--buyers", "1500", "--units", "40", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout, env={**os.environ, **(environment or {})}, preexec_fn=preexec, errors="replace")


class Demo(unittest.TestCase):
    def assert_promises_held(self, done):
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-2000:])
        for promise in ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"):
            self.assertIn(promise, done.stdout)
        self.assertNotIn("AddressSanitizer", done.stderr)

    def test_every_sample_sells_exactly_its_stock_and_exits_with_0(self):
        for sample in ("goods", "coupon", "slot", "entry"):
            with self.subTest(sample=sample):
                self.assert_promises_held(demo("--sale", str(EXAMPLES / f"{sample}.yaml")))

    def test_taken_ports_do_not_stop_it(self):
        taken = []
        for port in (8080, 8081):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
                sock.listen()
                taken.append(sock)
            except OSError:
                sock.close()
        try:
            done = demo()
            self.assert_promises_held(done)
            self.assertIn("8080", done.stdout + done.stderr)
        finally:
            for sock in taken:
                sock.close()

    def test_two_at_once_do_not_disturb_each_other(self):
        runs = [subprocess.Popen([BINARY, "demo", "--exit", "--buyers", "800", "--units", "20"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, text=True, errors="replace") for _ in range(2)]
        for run in runs:
            output, _ = run.communicate(timeout=180)
            self.assertEqual(run.returncode, 0, output[-3000:])

    def test_few_descriptors_are_enough_and_it_says_so(self):
        done = demo(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
        self.assert_promises_held(done)
        self.assertRegex(done.stdout + done.stderr, r"ulimit|descriptor")

    def test_ctrl_c_half_way_cleans_up(self):
        with tempfile.TemporaryDirectory() as temporary:
            run = subprocess.Popen([BINARY, "demo", "--exit", "--buyers", "20000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   text=True, errors="replace", env={**os.environ, "TMPDIR": temporary})
            time.sleep(2.5)
            run.send_signal(signal.SIGINT)
            output, _ = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130, output[-2000:])
            self.assertEqual(os.listdir(temporary), [], "the temporary data folder is removed")

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_full_disk_ends_with_a_sentence(self):
        folder = tempfile.mkdtemp(prefix="seckill-demo-full-")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode != 0:
            shutil.rmtree(folder)
            self.skipTest("tmpfs cannot be mounted here")
        try:
            done = demo("--data", folder + "/data")
            self.assertNotIn(done.returncode, (0, -6, -11), done.stdout + done.stderr)
            self.assertRegex((done.stdout + done.stderr).lower(), r"disk|space|full")
        finally:
            subprocess.run(["umount", "-l", folder], capture_output=True)
            shutil.rmtree(folder, ignore_errors=True)

    def test_bad_arguments_are_usage_errors(self):
        for args in (["--buyers", "-1"], ["--buyers", "abc"], ["--units", "0"], ["--sale", "/nonexistent.yaml"], ["--port", "99999"]):
            done = subprocess.run([BINARY, "demo", "--exit", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
            self.assertEqual(done.returncode, 2, (args, done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
