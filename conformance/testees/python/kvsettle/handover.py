"""Hand-over over HTTP (chapter 10): JSON bodies, strict base64, signature. Text is Unicode."""

import base64
import binascii
import hashlib
import hmac
import json
import re

from . import jsontext
from .wire import Refused

MAX_TEXT, MAX_STATE = 22369624, 16777216
MAX_TOKENS, MAX_HASH_IDS, MAX_BODY = 1024, 4096, 25165824


def _refused(code, item, v):
    return Refused(code, item, v.at, "KS-HTTP-4")


def integer(low, high):
    def read(v, item):
        if v.kind != "number" or not re.fullmatch(rb"-?[0-9]+", v.value):
            raise _refused("bad-encoding", item, v)
        if not low <= int(v.value[:40]) <= high:  # 40 digits are out of range in any case
            raise _refused("out-of-range", item, v)
        return int(v.value)
    return read


def text_of(most):
    def read(v, item):
        if v.kind != "string":
            raise _refused("bad-encoding", item, v)
        if v.end - v.at - 2 > most:
            raise Refused("too-large", item, v.at, "KS-HTTP-15")
        return v.value
    return read


text = text_of(65536)


def list_of(read_one, most):
    def read(v, item):
        if v.kind != "list":
            raise _refused("bad-encoding", item, v)
        if len(v.value) > most:
            raise _refused("too-large", item, v)
        return [read_one(e, item) for e in v.value]
    return read


def endpoint(v, item):
    """A string, or a list of which the first counts; an empty list reads as absent."""
    if v.kind != "list":
        return text(v, item)
    return ([text(e, item) for e in v.value] or [None])[0]


ID = SIZE = integer(0, 2**64 - 1)
SIGNED = integer(-2**63, 2**63 - 1)
TOKENS = list_of(SIGNED, MAX_TOKENS)


class Body:
    """A JSON object: fields in the order in which they are written, as (name, read, required)."""

    def __init__(self, *fields):
        self.fields = {name: (read, required) for name, read, required in fields}

    def __call__(self, v, item):
        if v.kind != "object":
            raise _refused("bad-encoding", item, v)
        out = dict.fromkeys(self.fields)
        seen = set()
        for name, at, member in v.value:
            if name not in self.fields:
                continue  # unknown fields are ignored
            if name in seen:
                raise Refused("duplicate", name, at, "KS-HTTP-4")
            seen.add(name)
            read, required = self.fields[name]
            if member.kind != "null":
                out[name] = read(member, name)
            elif required:
                raise Refused("missing", name, at, "KS-HTTP-4")
        for name, (_, required) in self.fields.items():
            if required and name not in seen:
                raise Refused("missing", name, v.end, "KS-HTTP-4")
        return out

    def ordered(self, value):
        return {name: read.ordered(value[name]) if isinstance(read, Body) else value[name]
                for name, (read, _) in self.fields.items() if value[name] is not None}


PARAMS = Body(
    ("request_type", text, True), ("first_gen_tokens", TOKENS, False), ("ctx_request_id", ID, False),
    ("encoded_opaque_state", text_of(MAX_TEXT), False), ("draft_tokens", TOKENS, False), ("disagg_request_id", ID, False),
    ("ctx_dp_rank", SIGNED, False), ("ctx_info_endpoint", endpoint, False))
HANDOVER = Body(
    ("request_id", ID, True), ("disaggregated_params", PARAMS, True),
    ("kvsettle", Body(("hash_ids", list_of(ID, MAX_HASH_IDS), True), ("input_length", SIZE, True), ("output_length", SIZE, True),
                      ("deadline_ms", SIZE, True)), True))
CANCEL = Body(("request_id", ID, True), ("reason", text, True))
ERROR = Body(("error", Body(("code", text, True), ("message", text, True), ("requirement", text, True)), True))


def read(body, data):
    """Reads a body (KS-HTTP-4, KS-HTTP-15)."""
    if len(data) > MAX_BODY:
        raise Refused("too-large", "body", 0, "KS-HTTP-15")
    return body(jsontext.parse(data), "body")


def write(body, value):
    """Compact JSON in the order of chapter 10, without absent fields, escaped to printable ASCII."""
    return _compact(body.ordered(value)).encode()


def _compact(v):
    return json.dumps(v, separators=(",", ":"), ensure_ascii=True)


def read_base64(s):
    """Standard base64, with padding, nothing else in it, unused bits 0 (KS-HTTP-1, KS-HTTP-2)."""
    if len(s) > MAX_TEXT:
        raise Refused("too-large", "encoded_opaque_state", None, "KS-HTTP-2")
    try:
        data = base64.b64decode(s.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise Refused("bad-encoding", "encoded_opaque_state", None, "KS-HTTP-1") from None
    if write_base64(data) != s:
        raise Refused("bad-encoding", "encoded_opaque_state", None, "KS-HTTP-1")
    if len(data) > MAX_STATE:
        raise Refused("too-large", "encoded_opaque_state", None, "KS-HTTP-2")
    return data


def write_base64(data):
    return base64.b64encode(data).decode("ascii")


def canonical(params):
    """The text that is signed, or None where there is nothing to sign (KS-HTTP-3)."""
    signed = {"ctx_info_endpoint": params["ctx_info_endpoint"], "encoded_opaque_state": params["encoded_opaque_state"]}
    return None if set(signed.values()) == {None} else _compact(signed)


def sign(key, params):
    signed = canonical(params)
    return None if signed is None else "sha256=" + hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()


def verify(key, params, header):
    """Checks the value of x-trtllm-disagg-auth under a configured key; returns the text that was signed. An empty key is none."""
    want = sign(key, params)
    if want is None:
        return None
    if not key or not header or not re.fullmatch(r"sha256=[0-9a-fA-F]{64}", header) or not hmac.compare_digest(header.lower(), want):
        raise Refused("bad-signature", "x-trtllm-disagg-auth", None, "KS-HTTP-3")
    return canonical(params)
