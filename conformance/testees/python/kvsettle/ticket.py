"""Ticket trailer of an opaque state, and the tagged state of positional streams (chapter 09)."""

from . import identity, native
from .control import Tlv, read_tlvs, tlv_value, write_tlvs
from .identity import nonzero
from .wire import Reader, Refused, U8, U64, crc32c

ORDER = "big"
MAGIC = b"TRTLCTX1"
FOOTER = 20
MAX_STATE, MAX_PAYLOAD = 16777216, 4096
TAG, TAG_HEADER = 0xD7, 13
ABI_PROFILES = {1: "2026mid"}


def _not_zero(v, bits):
    return nonzero(v)


TLVS = {
    1: Tlv("ctxRequestId", U64),
    2: Tlv("ctxInstanceEpoch", U64, _not_zero),
    3: Tlv("ctxAttempt", U64, _not_zero),
    4: Tlv("direction", U8, lambda v, bits: v == identity.CTX_TO_GEN),
    5: Tlv("requiredCapabilities", U64),
    6: Tlv("serializationAbiId", U64, _not_zero),
}
TICKET_NAMES = ("ctxRequestId", "ctxInstanceEpoch", "ctxAttempt", "direction")


def read_trailer(data):
    """Returns the trailer, or None, and the length of the native prefix (KS-TKT-1 to -5)."""
    if len(data) > MAX_STATE:
        raise Refused("too-large", "opaque state", 0, "KS-TKT-1")
    foot = len(data) - FOOTER
    if foot < 0 or data[foot:foot + 8] != MAGIC:
        return None, len(data)
    r = Reader(data, ORDER, foot + 8)
    schema, flags, length, crc = r.number(2, "schema"), r.number(2, "flags"), r.number(4, "payload_length"), r.number(4, "payload_crc")
    if schema != 1:
        raise Refused("bad-version", "schema", foot + 8, "KS-TKT-3")
    if flags:
        raise Refused("bad-flags", "flags", foot + 10, "KS-TKT-3")
    if length > MAX_PAYLOAD:
        raise Refused("too-large", "payload_length", foot + 12, "KS-TKT-3")
    if length > foot:
        raise Refused("bad-length", "payload_length", foot + 12, "KS-TKT-3")
    start = foot - length
    if crc != crc32c(data[start:foot]):
        raise Refused("bad-checksum", "payload_crc", foot + 16, "KS-TKT-3")
    v, found = _values(data, start, foot)
    if v["serializationAbiId"] not in ABI_PROFILES:
        raise Refused("bad-version", "serializationAbiId", found[6][2], "KS-TKT-5")
    return {"ticket": {n: v[n] for n in TICKET_NAMES}, "requiredCapabilities": v["requiredCapabilities"],
            "serializationAbiId": v["serializationAbiId"]}, start


def _values(data, start, foot):
    found = read_tlvs(data, start, foot, TLVS)
    for number, tlv in TLVS.items():
        if number not in found:
            raise Refused("missing", tlv.name, foot, "KS-TKT-4")
    return {tlv.name: tlv_value(data, number, found, TLVS) for number, tlv in TLVS.items()}, found


def write_trailer(trailer):
    values = {**trailer["ticket"], "requiredCapabilities": trailer["requiredCapabilities"], "serializationAbiId": trailer["serializationAbiId"]}
    body = write_tlvs({n: values[t.name] for n, t in TLVS.items()}, TLVS)
    _values(body, 0, len(body))
    return body + MAGIC + (1).to_bytes(2, ORDER) + bytes(2) + len(body).to_bytes(4, ORDER) + crc32c(body).to_bytes(4, ORDER)


def read_state(data, profile):
    """Reads an opaque state: trailer first, then the native prefix. profile is for a state without a trailer."""
    trailer, end = read_trailer(data)
    if trailer:
        profile = ABI_PROFILES[trailer["serializationAbiId"]]
    r = Reader(data, native.ORDER, 0, end)
    state = native.STATE[profile].read(r, "state")
    r.done("state")
    return {"state": state, "trailer": trailer}


def write_state(v, profile):
    if v["trailer"] is None:
        return native.STATE[profile].write(v["state"], native.ORDER, "state")
    profile = ABI_PROFILES[v["trailer"]["serializationAbiId"]]
    return native.STATE[profile].write(v["state"], native.ORDER, "state") + write_trailer(v["trailer"])


def read_tagged(data):
    """Reads what stands where a bool stood (KS-TKT-11). Returns the opaque state, or None for the old encoding, and the rest."""
    r = Reader(data, ORDER)
    tag = r.number(1, "tag")
    if tag in (0, 1):
        return None, data
    if tag != TAG:
        raise Refused("bad-value", "tag", 0, "KS-TKT-11")
    if len(data) < TAG_HEADER:
        raise Refused("short-input", "header", 0, "KS-TKT-11")
    if r.take(8, "magic") != MAGIC:
        raise Refused("bad-magic", "magic", 1, "KS-TKT-11")
    length = r.number(4, "length")
    if length > MAX_STATE:
        raise Refused("too-large", "length", 9, "KS-TKT-1")
    if length > r.left():
        raise Refused("bad-length", "length", 9, "KS-TKT-11")
    at, opaque = r.pos, r.take(length, "opaque state")
    _with_trailer(opaque, at)
    return opaque, data[r.pos:]


def _with_trailer(opaque, at):
    """Refuses what keeps its old encoding, and a broken trailer at its place in the stream (KS-TKT-12)."""
    try:
        trailer, _ = read_trailer(opaque)
    except Refused as e:
        raise Refused(e.code, e.item, None if e.offset is None else e.offset + at, e.req) from None
    if trailer is None:
        raise Refused("missing", "trailer", at + len(opaque), "KS-TKT-12")


def write_tagged(opaque):
    _with_trailer(opaque, 0)
    if len(opaque) > MAX_STATE:
        raise Refused("too-large", "opaque state", None, "KS-TKT-1")
    return bytes([TAG]) + MAGIC + len(opaque).to_bytes(4, ORDER) + opaque
