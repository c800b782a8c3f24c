"""Login tokens made by hand (RFC 7515, RFC 7519): an independent reading of what the server must accept and refuse."""

import base64
import hashlib
import hmac
import json
import time


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def token(secret, buyer, expires_in=3600, header=None, claims=None):
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    payload = {"sub": buyer, "iat": int(time.time()), "exp": int(time.time()) + expires_in}
    payload.update(claims or {})
    payload = {key: value for key, value in payload.items() if value is not None}
    return sign(secret, json.dumps(head).encode(), json.dumps(payload, ensure_ascii=False).encode("utf-8"))


def sign(secret, head, payload):
    """Signs any bytes as header and payload, also those that no honest issuer would make."""
    signed = f"{b64(head)}.{b64(payload)}"
    mac = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{b64(mac)}"
