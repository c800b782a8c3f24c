#!/usr/bin/env python3
"""Writes keys.inc, notices.inc and answers.inc beside it: what the tests of src/payments hold the adapters against.

Every run makes new keys. Needs Debian's python3-cryptography; building and testing the server does not.
"""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

import answers
import notices
from rules import compact

HERE = Path(__file__).resolve().parent
NOW = 1_794_362_400  # 2026-11-11T02:00:00Z
SERIAL = 0x5157F09EFDC096DE15EBE81A47057A7200000001


def private_pem(key) -> str:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def public_pem(key) -> str:
    return key.public_key().public_bytes(serialization.Encoding.PEM,
                                         serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def certificate_pem(key) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "platform of a test")])
    begin = datetime.datetime(2026, 1, 1)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(SERIAL).not_valid_before(begin).not_valid_after(begin + datetime.timedelta(days=3650))
            .sign(key, hashes.SHA256()))
    return made.public_bytes(serialization.Encoding.PEM).decode()


def write(name: str, entries: list[dict]) -> None:
    lines = [f"// Written by make_vectors.py. {name}: one JSON value each."]
    lines += [f'R"~({compact(entry)})~",' for entry in entries]
    (HERE / f"{name}.inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    world = {name: rsa.generate_private_key(65537, 2048) for name in
             ("shop", "wechat", "wechat_certified", "alipay", "alipay_next", "stranger")}
    world["now"] = NOW
    world["certificate_serial"] = f"{SERIAL:X}"
    keys = {"shop_private": private_pem(world["shop"]), "shop_public": public_pem(world["shop"]),
            "wechat_public": public_pem(world["wechat"]), "wechat_certificate": certificate_pem(world["wechat_certified"]),
            "certificate_serial": world["certificate_serial"], "alipay_public": public_pem(world["alipay"]),
            "alipay_next_bare": "".join(public_pem(world["alipay_next"]).splitlines()[1:-1]),
            "small_public": public_pem(rsa.generate_private_key(65537, 1024)),
            # Of no vector: for harnesses that sign by themselves.
            "second_private": private_pem(rsa.generate_private_key(65537, 2048))}
    write("keys", [{"key": name, "value": value} for name, value in keys.items()])
    write("notices", notices.all_of(world))
    write("answers", answers.all_of(world))


if __name__ == "__main__":
    main()
