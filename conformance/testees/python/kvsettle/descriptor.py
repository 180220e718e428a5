"""Peer descriptors in agent names (chapter 04). Names are bytes."""

from dataclasses import dataclass

from .wire import Refused

END = b"__trtllm_protocol_end"
MARKERS = {1: b"__trtllm_protocol_v1_", 2: b"__trtllm_protocol_v2_", 0: b"__trtllm_p_"}  # 0 is the old form
FNV_BASIS, FNV_PRIME = 14695981039346656037, 1099511628211


@dataclass
class Descriptor:
    base: bytes
    schema: int
    min: int
    max: int
    capabilities: int
    mode: int
    token: int
    abi: int | None = None  # schema 2 only


def read(name, schemas):
    """Reads a name as a reader that knows these schemas: (1,), (2,), (1, 2) or (0,)."""
    if schemas == (0,):
        at = name.rfind(MARKERS[0])
        if at < 0:
            raise Refused("P_MISSING", "marker", None, "KS-DESC-24")
        pieces = name[at + len(MARKERS[0]):].split(b"_")
        if len(pieces) < 5:
            raise Refused("P_FIELDS", "payload", None, "KS-DESC-24")
        return _fields(name[:at], 0, pieces[:5])
    if not name.endswith(END):
        raise Refused("P_MISSING", "terminator", None, "KS-DESC-1")
    stop = len(name) - len(END)
    # The last marker that starts at or before the terminator; of two forms the later one (KS-DESC-2, KS-DESC-23).
    at, schema = max((name.rfind(MARKERS[s], 0, stop + len(MARKERS[s])), s) for s in schemas)
    if at < 0:
        raise Refused("P_MISSING", "marker", None, "KS-DESC-2")
    begin = at + len(MARKERS[schema])
    pieces = name[begin:stop].split(b"_") if begin <= stop else []  # KS-DESC-3
    if len(pieces) != (6 if schema == 2 else 5):
        raise Refused("P_FIELDS", "payload", None, "KS-DESC-4")
    return _fields(name[:at], schema, pieces)


def _fields(base, schema, pieces):
    bases = (10, 10, 16, 10, 16, 16)
    d = Descriptor(base, schema, *(_number(p, b) for p, b in zip(pieces, bases)))
    check(d)
    return d


def _number(text, base):
    digits = b"0123456789" if base == 10 else b"0123456789abcdefABCDEF"
    if not text or text.strip(digits):
        raise Refused("P_NUMBER", "number", None, "KS-DESC-5")
    text = text.lstrip(b"0") or b"0"  # leading zeros are allowed, any number of them
    if len(text) > 20 or int(text, base) >> 64:
        raise Refused("P_NUMBER", "number", None, "KS-DESC-5")
    return int(text, base)


def check(d):
    """The checks on values, in the order of KS-DESC-9 and KS-DESC-19."""
    if d.min >> 16 or d.max >> 16 or d.capabilities >> 64 or d.token >> 64 or (d.abi or 0) >> 64:
        raise Refused("P_NUMBER", "number", None, "KS-DESC-5")
    if d.min < 1 or d.min > d.max:
        raise Refused("P_RANGE", "min, max", None, "KS-DESC-6")
    if d.mode not in (0, 1):
        raise Refused("P_MODE", "mode", None, "KS-DESC-7")
    if d.token == 0:
        raise Refused("P_TOKEN", "token", None, "KS-DESC-8")
    if d.schema == 2 and not d.abi:
        raise Refused("P_ABI", "abi", None, "KS-DESC-19")


def write_raw(d):
    """The canonical form (KS-DESC-12), unchecked: for test vectors only (KS-DESC-13)."""
    text = f"{d.min}_{d.max}_{d.capabilities:x}_{d.mode}_{d.token:016x}"
    if d.schema == 2:
        text += f"_{d.abi:x}"
    return d.base + MARKERS[d.schema] + text.encode() + (END if d.schema else b"")


def write(d):
    """The checked writer that names agents (KS-DESC-13, KS-DESC-18). Whatever it refuses is bad-value."""
    if d.schema not in (1, 2):
        raise Refused("bad-value", "schema", None, "KS-DESC-26")
    if not d.base or any(mark in d.base for mark in (*MARKERS.values(), END)):
        raise Refused("bad-value", "base name", None, "KS-DESC-18")
    try:
        check(d)
    except Refused as e:
        raise Refused("bad-value", e.item, None, e.req) from None
    return write_raw(d)


def session_token(base):
    """FNV-1a of 64 bits (KS-DESC-17)."""
    h = FNV_BASIS
    for b in base:
        h = (h ^ b) * FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return h or FNV_BASIS
