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


def read_tlvs(data, start, end, table, bits=frozenset(), allowed=None):
    """Reads TLVs into {number: (bytes, offset of the TLV, offset of the value)} (KS-CTL-9 to -11, -13, -14). Values come later."""
    r, found = Reader(data, ORDER, start, end), {}
    while r.left():
        at = r.pos
        if r.left() < 8:
            raise Refused("short-input", "TLV header", at, "KS-CTL-9")
        number, flags, length = r.number(2, "TLV type"), r.number(2, "TLV flags"), r.number(4, "TLV length")
        if flags not in (0, REQUIRED):
            raise Refused("bad-flags", "TLV flags", at + 2, "KS-CTL-14")
        if length > r.left():
            raise Refused("bad-length", "TLV length", at + 4, "KS-CTL-9")
        tlv = table.get(number)
        if tlv is None or tlv.needs and not bits.intersection(tlv.needs):
            if flags == REQUIRED:
                raise Refused("unknown-required", f"TLV {number:#x}", at, "KS-CTL-14")
            r.take(length, "TLV value")
            continue
        if flags != REQUIRED:
            raise Refused("bad-flags", tlv.name, at + 2, "KS-CTL-10")
        if number in found:
            raise Refused("duplicate", tlv.name, at, "KS-CTL-11")
        if allowed is not None and tlv.name not in allowed:
            raise Refused("forbidden", tlv.name, at, "KS-CTL-13")
        if tlv.kind is None:
            value = bytes(r.take(length, tlv.name))
        else:
            if length != tlv.kind.least:
                raise Refused("bad-length", tlv.name, at + 4, "KS-CTL-9")
            value = bytes(r.take(length, tlv.name))
        found[number] = (value, at, at + 8)
    return found


def tlv_value(data, number, found, table, bits=frozenset()):
    """The value of a TLV that was read, checked (KS-CTL-15)."""
    tlv, (body, _, at) = table[number], found[number]
    if tlv.kind is None:
        return body
    value = tlv.kind.read(Reader(data, ORDER, at, at + len(body)), tlv.name)
    if tlv.test and not tlv.test(value, bits):
        raise Refused("bad-value", tlv.name, at, "KS-CTL-15")
    return value


def write_tlvs(values, table):
    """Writes {number: value} in ascending order, each as required (KS-CTL-10, KS-CTL-12)."""
    out = b""
    for number in sorted(values):
        kind = table[number].kind
        body = values[number] if kind is None else kind.write(values[number], ORDER, table[number].name)
        out += number.to_bytes(2, ORDER) + REQUIRED.to_bytes(2, ORDER) + len(body).to_bytes(4, ORDER) + body
    return out


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
    if flags:
        raise Refused("bad-flags", "flags", 20, "KS-CTL-5")
    if length > MAX_PAYLOAD:
        raise Refused("too-large", "payload_length", 24, "KS-CTL-6")
    if length > r.left():
        raise Refused("bad-length", "payload_length", 24, "KS-CTL-1")
    if length < r.left():
        raise Refused("trailing-bytes", "payload", 40 + length, "KS-CTL-1")
    if message_id == 0:
        raise Refused("bad-value", "message_id", 32, "KS-CTL-5")
    if crc != crc32c(data[40:]):
        raise Refused("bad-checksum", "payload_crc", 28, "KS-CTL-4")
    if kind not in MESSAGES or MESSAGES[kind][2] not in (None, *bits) or expect not in (None, MESSAGES[kind][0]):
        raise Refused("bad-type", f"type {kind:#x}", 18, "KS-CTL-8")
    if got_version != version and kind != TYPE["OPEN"]:
        raise Refused("bad-version", "version", 16, "KS-CTL-3")
    name, own = MESSAGES[kind][:2]
    found = read_tlvs(data, 40, len(data), TLVS, bits, own + BY_DECISION if name == "READY" else own)
    return {"type": name, "version": got_version, "messageId": message_id, **_message(data, name, own, found, bits)}


def _message(data, name, own, found, bits):
    """Missing TLVs, then values: the key first, READY by its decision, then the rest."""
    for number in sorted(NUMBER[n] for n in own):
        if number not in found:
            raise Refused("missing", TLVS[number].name, len(data), "KS-CTL-13")
    values = {"key": tlv_value(data, NUMBER["key"], found, TLVS, bits)}
    if name == "READY":
        _ready(data, values, found, bits)
    for number in sorted(found):
        values.setdefault(TLVS[number].name, None)
        if values[TLVS[number].name] is None:
            values[TLVS[number].name] = tlv_value(data, number, found, TLVS, bits)
    if name == "DATA_COMPLETE":
        for test, item in ((values["chunkCount"] == 0, "chunkCount"), (values["chunkIndex"] >= values["chunkCount"], "chunkIndex")):
            if test:
                raise Refused("bad-value", item, found[NUMBER[item]][2], "KS-REC-4")
    if name == "OPEN":  # KS-CTL-18: walked before anything is done with it
        at = found[NUMBER["requestHex"]][2]
        body = Reader(data, native.ORDER, at, at + len(values["requestHex"]))
        native.REQUEST.read(body, "request")
        body.done("request")
    return values


def _ready(data, values, found, bits):
    """What READY carries or not by its decision (KS-CTL-16, KS-REC-3)."""
    decision = values["readyDecision"] = tlv_value(data, NUMBER["readyDecision"], found, TLVS, bits)
    wanted = {"localEvidence": decision == NOT_READY}
    wanted["backendContract"] = wanted["retentionMs"] = decision == READY and bool(bits & {RECOVERY, QUIESCENCE})
    for item in BY_DECISION:
        there, req = NUMBER[item] in found, "KS-CTL-16" if item == "localEvidence" else "KS-REC-3"
        if there and not wanted[item]:
            raise Refused("forbidden", item, found[NUMBER[item]][1], req)
        if wanted[item] and not there:
            raise Refused("missing", item, len(data), req)
        if there and item == "localEvidence" and found[NUMBER[item]][0][0] not in (NOT_STARTED, LOCAL_UNKNOWN):
            raise Refused("bad-value", item, found[NUMBER[item]][2], req)


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
