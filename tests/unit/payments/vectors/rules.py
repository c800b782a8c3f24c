"""The providers' side, from their public rules alone: what signs notices and answers, and what a signed call must be.

Shares no code with src/payments. Sources: the Standard Webhooks specification 1.0.0; WeChat Pay's APIv3 pages on signing,
verifying and opening notices; Alipay's pages on RSA2 signing, asynchronous notices and synchronous answers.
"""

import base64
import hashlib
import hmac
import json
from urllib.parse import quote, quote_plus

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def rsa_sign(key, message: bytes) -> str:
    return b64(key.sign(message, padding.PKCS1v15(), hashes.SHA256()))


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- Standard Webhooks ---


def webhook_mac(secret: str, message_id: str, seconds: int, body: str) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + b64(hmac.new(key, f"{message_id}.{seconds}.{body}".encode(), hashlib.sha256).digest())


def webhook_headers(secret: str, message_id: str, seconds: int, body: str) -> list[list[str]]:
    return [["webhook-id", message_id], ["webhook-timestamp", str(seconds)],
            ["webhook-signature", webhook_mac(secret, message_id, seconds, body)]]


# The specification's own vector.
assert webhook_mac("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                   '{"test": 2432232314}') == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


# --- WeChat Pay APIv3 ---


def wechat_headers(key, serial: str, seconds: int, nonce: str, body: str) -> list[list[str]]:
    signature = rsa_sign(key, f"{seconds}\n{nonce}\n{body}\n".encode())
    return [["Wechatpay-Timestamp", str(seconds)], ["Wechatpay-Nonce", nonce], ["Wechatpay-Signature", signature],
            ["Wechatpay-Serial", serial], ["Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048"]]


def wechat_notice(api_v3_key: str, event: str, resource: dict, **other) -> str:
    nonce, associated = other.get("nonce", "fdasflkja484"), other.get("associated", "transaction")
    sealed = AESGCM(api_v3_key.encode()).encrypt(nonce.encode(), compact(resource).encode(), associated.encode())
    return compact({
        "id": other.get("id", "EV-2018022511223320873"), "create_time": "2026-11-11T10:00:01+08:00",
        "resource_type": "encrypt-resource", "event_type": event, "summary": "支付成功",
        "resource": {"original_type": "transaction", "algorithm": other.get("algorithm", "AEAD_AES_256_GCM"),
                     "ciphertext": b64(sealed), "associated_data": other.get("told", associated), "nonce": nonce}})


def wechat_call(key, mchid: str, serial: str, method: str, host: str, target: str, body: str, seconds: int,
                nonce: str) -> dict:
    signature = rsa_sign(key, f"{method}\n{target}\n{seconds}\n{nonce}\n{body}\n".encode())
    value = (f'WECHATPAY2-SHA256-RSA2048 mchid="{mchid}",nonce_str="{nonce}",timestamp="{seconds}",'
             f'serial_no="{serial}",signature="{signature}"')
    return {"method": method, "url": host + target, "body": body, "header": ["Authorization", value]}


# --- Alipay ---


def alipay_form(fields: dict, charset: str = "utf-8") -> str:
    return "&".join(f"{name}={quote_plus(str(value), encoding=charset)}" for name, value in fields.items())


def alipay_notice(key, fields: dict, charset: str = "utf-8", sign_type: str = "RSA2") -> dict:
    """All fields of the notice, the signature among them."""
    text = "&".join(f"{name}={fields[name]}" for name in sorted(fields))
    return fields | {"sign": rsa_sign(key, text.encode(charset)), "sign_type": sign_type}


def alipay_call(key, gateway: str, app_id: str, method: str, content: str, china_time: str) -> dict:
    fields = {"app_id": app_id, "method": method, "format": "JSON", "charset": "utf-8", "sign_type": "RSA2",
              "timestamp": china_time, "version": "1.0", "biz_content": content}
    text = "&".join(f"{name}={fields[name]}" for name in sorted(fields))
    in_url = {name: fields[name] for name in sorted(fields) if name != "biz_content"}
    in_url["sign"] = rsa_sign(key, text.encode())
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in in_url.items())
    return {"method": "POST", "url": f"{gateway}?{query}", "body": "biz_content=" + quote(content, safe=""),
            "header": ["Content-Type", "application/x-www-form-urlencoded;charset=utf-8"]}


def alipay_answer(key, method: str, node: str, node_name: str | None = None) -> str:
    name = node_name or method.replace(".", "_") + "_response"
    return f'{{"{name}":{node},"sign":"{rsa_sign(key, node.encode())}"}}'
