"""The control carrier (chapters 08, 25, 26): frame, TLVs and the eight messages, network order."""

import hashlib

from . import identity, native
from .identity import nonzero
from .wire import Raw, Reader, Refused, U8, U32, U64, crc32c

ORDER = "big"
MAGIC = b"TRTLCAN1"
MAX_PAYLOAD = 1048576
RECOVERY, QUIESCENCE = 48, 49
REQUIRED = 1  # bit 0 of a TLV's flags

READY, NOT_READY = 1, 2
NOT_STARTED, LOCAL_UNKNOWN, LOCAL_QUIESCED = 1, 4, 0x81


class Tlv:
    """One row of a table of TLV types. `kind` None means any bytes; `needs` are the bits of which one makes it known."""

    def __init__(self, name, kind, test=None, needs=()):
        self.name, self.kind, self.test, self.needs = name, kind, test, needs


def _one_of(*values):
    return lambda v, bits: v in values


def _not_zero(v, bits):
    return nonzero(v)


def _evidence(v, bits):
    return 1 <= v <= 4 or v == LOCAL_QUIESCED and QUIESCENCE in bits


TLVS = {
    1: Tlv("key", identity.KEY),
    2: Tlv("requestHex", None),
    3: Tlv("readyDecision", U8, _one_of(READY, NOT_READY)),
    4: Tlv("cancelReason", U32, _one_of(1, 2, 3, 4, 5)),
    5: Tlv("localEvidence", U8, _evidence),
    6: Tlv("terminalMessageId", U64, _not_zero),
    7: Tlv("terminalPayloadSha256", Raw(32)),
    0x8001: Tlv("sourceState", U8, _one_of(1, 2, 3, 4, 5), (RECOVERY,)),
    0x8002: Tlv("queryMessageId", U64, _not_zero, (RECOVERY,)),
    0x8003: Tlv("backendContract", U32, None, (RECOVERY, QUIESCENCE)),
    0x8004: Tlv("chunkIndex", U32, None, (RECOVERY,)),
    0x8005: Tlv("chunkCount", U32, None, (RECOVERY,)),  # not 0: CHUNK_INDEX is below it
    0x8006: Tlv("bytes", U64, None, (RECOVERY,)),
    0x8007: Tlv("retentionMs", U32, None, (RECOVERY, QUIESCENCE)),
}
NUMBER = {t.name: n for n, t in TLVS.items()}

MESSAGES = {  # type: name, TLVs always required, bit
    1: ("OPEN", ("key", "requestHex"), None),
    2: ("READY", ("key", "readyDecision"), None),
    3: ("CANCEL", ("key", "cancelReason"), None),
    4: ("TERMINAL", ("key", "localEvidence"), None),
    5: ("TERMINAL_RECEIPT", ("key", "terminalMessageId", "localEvidence", "terminalPayloadSha256"), None),
    0x8001: ("QUERY", ("key",), RECOVERY),
    0x8002: ("STATUS", ("key", "sourceState", "queryMessageId"), RECOVERY),
    0x8003: ("DATA_COMPLETE", ("key", "chunkIndex", "chunkCount", "bytes"), RECOVERY),
}
BY_DECISION = ("localEvidence", "backendContract", "retentionMs")  # what READY carries or not by its decision
TYPE = {name: n for n, (name, _, _) in MESSAGES.items()}


def read_tlvs(data, start, end, table, bits=frozenset()):
    """Reads TLVs into {number: (value, offset of the TLV, offset of the value)} (KS-CTL-9 to -11, -14, -15)."""
    r, found = Reader(data, ORDER, start, end), {}
    while r.left():
        at = r.pos
        if r.left() < 8:
            raise Refused("short-input", "TLV header", at, "KS-CTL-9")
        number, flags, length = r.number(2, "TLV type"), r.number(2, "TLV flags"), r.number(4, "TLV length")
        if length > r.left():
            raise Refused("bad-length", "TLV length", at + 4, "KS-CTL-9")
        tlv = table.get(number)
        if tlv is None or tlv.needs and not bits.intersection(tlv.needs):
            if flags not in (0, REQUIRED):
                raise Refused("bad-flags", "TLV flags", at + 2, "KS-CTL-14")
            if flags == REQUIRED:
                raise Refused("unknown-required", f"TLV {number:#x}", at, "KS-CTL-14")
            r.take(length, "TLV value")
            continue
        if flags != REQUIRED:
            raise Refused("bad-flags", tlv.name, at + 2, "KS-CTL-10")
        if number in found:
            raise Refused("duplicate", tlv.name, at, "KS-CTL-11")
        if tlv.kind is None:
            value = bytes(r.take(length, tlv.name))
        else:
            if length != tlv.kind.least:
                raise Refused("bad-length", tlv.name, at + 4, "KS-CTL-9")
            value = tlv.kind.read(r, tlv.name)
        if tlv.test and not tlv.test(value, bits):
            raise Refused("bad-value", tlv.name, at + 8, "KS-CTL-15")
        found[number] = (value, at, at + 8)
    return found


def write_tlvs(values, table):
    """Writes {number: value} in ascending order, each as required (KS-CTL-10, KS-CTL-12)."""
    out = b""
    for number in sorted(values):
        kind = table[number].kind
        body = values[number] if kind is None else kind.write(values[number], ORDER, table[number].name)
        out += number.to_bytes(2, ORDER) + REQUIRED.to_bytes(2, ORDER) + len(body).to_bytes(4, ORDER) + body
    return out


def _required(name, bits, decision):
    """The TLVs of a message: those of its row and those by value (KS-CTL-13, KS-CTL-16, KS-REC-3)."""
    required = list(MESSAGES[TYPE[name]][1])
    if name == "READY" and decision == NOT_READY:
        required.append("localEvidence")
    if name == "READY" and decision == READY and bits & {RECOVERY, QUIESCENCE}:
        required += ["backendContract", "retentionMs"]
    return required


def decode(data, bits=frozenset(), version=1, expect=None):
    """Reads a control notification from its variant index on.

    bits: the selected bits among 48 and 49; expect: the name of the only message that is taken here, if any. An OPEN is
    read whatever version it proposes; the caller compares (KS-SEL-21).
    """
    r = Reader(data, ORDER)
    r.fixed(40, "envelope")
    if int.from_bytes(r.take(8, "variant index"), "little") != 3:
        raise Refused("bad-index", "variant index", 0, "KS-CTL-1")
    if r.take(8, "magic") != MAGIC:
        raise Refused("bad-magic", "magic", 8, "KS-CTL-1")
    got_version, kind, flags, length = r.number(2, "version"), r.number(2, "type"), r.number(4, "flags"), r.number(4, "payload_length")
    crc, message_id = r.number(4, "payload_crc"), r.number(8, "message_id")
    if got_version != version and kind != TYPE["OPEN"]:
        raise Refused("bad-version", "version", 16, "KS-CTL-3")
    if length > MAX_PAYLOAD:
        raise Refused("too-large", "payload_length", 24, "KS-CTL-6")
    if length > r.left():
        raise Refused("bad-length", "payload_length", 24, "KS-CTL-1")
    if length < r.left():
        raise Refused("trailing-bytes", "payload", 40 + length, "KS-CTL-1")
    if crc != crc32c(data[40:]):
        raise Refused("bad-checksum", "payload_crc", 28, "KS-CTL-4")
    if flags:
        raise Refused("bad-flags", "flags", 20, "KS-CTL-5")
    if kind not in MESSAGES or MESSAGES[kind][2] not in (None, *bits) or expect not in (None, MESSAGES[kind][0]):
        raise Refused("bad-type", f"type {kind:#x}", 18, "KS-CTL-8")
    if message_id == 0:
        raise Refused("bad-value", "message_id", 32, "KS-CTL-5")
    found = read_tlvs(data, 40, len(data), TLVS, bits)
    return _message(data, MESSAGES[kind][0], got_version, message_id, found, bits)


def _message(data, name, version, message_id, found, bits):
    values = {TLVS[n].name: v for n, (v, _, _) in found.items()}
    required, own = _required(name, bits, values.get("readyDecision")), MESSAGES[TYPE[name]][1]
    decision = found[NUMBER["readyDecision"]][2] if "readyDecision" in values else None
    for need in required:
        if need not in values:  # at the end of the payload, or at the value that requires it
            raise Refused("missing", need, len(data) if need in own else decision, "KS-CTL-13")
    for number, (_, at, _) in found.items():
        if TLVS[number].name not in required:  # at its TLV, or at the value that forbids it
            raise Refused("forbidden", TLVS[number].name, decision if TLVS[number].name in BY_DECISION and decision else at, "KS-CTL-13")
    _meaning(values, name, lambda tlv: found[NUMBER[tlv]][2])
    if name == "OPEN":  # KS-CTL-18: walked before anything is done with it
        at = found[NUMBER["requestHex"]][2]
        body = Reader(data, native.ORDER, at, at + len(values["requestHex"]))
        native.REQUEST.read(body, "request")
        body.done("request")
    return {"type": name, "version": version, "messageId": message_id, **values}


def _meaning(v, name, place):
    if name == "READY" and v["readyDecision"] == NOT_READY and v["localEvidence"] not in (NOT_STARTED, LOCAL_UNKNOWN):
        raise Refused("bad-value", "localEvidence", place("readyDecision"), "KS-CTL-16")
    if name == "DATA_COMPLETE" and v["chunkIndex"] >= v["chunkCount"]:
        raise Refused("bad-value", "chunkIndex", place("chunkIndex"), "KS-REC-4")


def encode(message, bits=frozenset()):
    """Writes a message from its variant index on; refuses what decode would refuse."""
    values = {NUMBER[k]: v for k, v in message.items() if k in NUMBER and v is not None}
    body = write_tlvs(values, TLVS)
    out = ((3).to_bytes(8, "little") + MAGIC + message["version"].to_bytes(2, ORDER) + TYPE[message["type"]].to_bytes(2, ORDER)
           + bytes(4) + len(body).to_bytes(4, ORDER) + crc32c(body).to_bytes(4, ORDER) + message["messageId"].to_bytes(8, ORDER) + body)
    decode(out, bits, message["version"])
    return out


def payload_sha256(data):
    """SHA-256 of the bytes after the envelope: what a receipt echoes (KS-SET-9)."""
    return hashlib.sha256(data[40:]).digest()
