"""A strict reader of JSON that knows where each value stands; bodies of chapter 10 are read with it."""

import re
from dataclasses import dataclass

from .wire import Refused

MAX_DEPTH, MAX_NAME = 32, 65536
NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
SPACE = b" \t\r\n"
ESCAPES = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}


@dataclass
class Value:
    kind: str  # object, list, string, number, bool, null
    at: int  # first byte
    end: int  # byte after the last
    value: object  # object: [(name, offset of the name, Value)]; list: [Value]; number: its text as bytes


def parse(data):
    """Reads one JSON text that must be all of data."""
    t = _Text(data)
    v = t.value(1)
    t.space()
    if t.pos < len(data):
        raise Refused("trailing-bytes", "body", t.pos, "KS-HTTP-4")
    return v


class _Text:
    def __init__(self, data):
        self.data, self.pos = data, 0

    def wrong(self, at=None, code="bad-encoding"):
        return Refused(code, "JSON", self.pos if at is None else at, "KS-HTTP-4")

    def space(self):
        while self.peek() and self.peek() in SPACE:
            self.pos += 1

    def peek(self):
        return self.data[self.pos:self.pos + 1]

    def expect(self, c):
        self.space()
        if self.peek() != c:
            raise self.wrong()
        self.pos += 1

    def value(self, depth):
        self.space()
        at, c = self.pos, self.peek()
        if c in (b"{", b"["):
            if depth > MAX_DEPTH:
                raise self.wrong(code="too-large")
            kind, v = ("object", self.object(depth)) if c == b"{" else ("list", self.list(depth))
        elif c == b'"':
            kind, v = "string", self.string()
        else:
            kind, v = self.word()
        return Value(kind, at, self.pos, v)

    def object(self, depth):
        out = []
        for _ in self.items(b"}"):
            self.space()
            at, name = self.pos, self.string()
            if self.pos - at - 2 > MAX_NAME:
                raise self.wrong(at, "too-large")
            self.expect(b":")
            out.append((name, at, self.value(depth + 1)))
        return out

    def list(self, depth):
        return [self.value(depth + 1) for _ in self.items(b"]")]

    def items(self, close):
        """Steps through what stands between the brackets; the caller reads each item."""
        self.pos += 1
        self.space()
        if self.peek() != close:
            while True:
                yield
                self.space()
                if self.peek() != b",":
                    break
                self.pos += 1
        self.expect(close)

    def word(self):
        at = self.pos
        word = re.compile(rb"[-+.0-9A-Za-z]*").match(self.data, at).group()
        self.pos += len(word)
        if word in (b"true", b"false"):
            return "bool", word == b"true"
        if word == b"null":
            return "null", None
        if not NUMBER.fullmatch(word):
            raise self.wrong(at)
        return "number", word

    def string(self):
        if self.peek() != b'"':
            raise self.wrong()
        start = self.pos  # a text that is wrong as a text is refused at its quote
        self.pos += 1
        out = []
        while True:
            run = re.compile(rb'[^"\\\x00-\x1f]*').match(self.data, self.pos).group()
            try:
                out.append(run.decode("utf-8"))
            except UnicodeDecodeError:
                raise self.wrong(start) from None
            self.pos += len(run)
            c = self.peek()
            if c == b'"':
                self.pos += 1
                return "".join(out)
            if c != b"\\":
                raise self.wrong()
            out.append(self.escape(start))

    def escape(self, start):
        c = self.data[self.pos + 1:self.pos + 2]
        if c in ESCAPES:
            self.pos += 2
            return ESCAPES[c]
        unit = self.unit(start)
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        low = self.unit(start)
        if unit > 0xDBFF or not 0xDC00 <= low <= 0xDFFF:
            raise self.wrong(start)
        return chr(0x10000 + (unit - 0xD800 << 10) + (low - 0xDC00))

    def unit(self, start):
        m = re.compile(rb"\\u([0-9A-Fa-f]{4})").match(self.data, self.pos)
        if not m:
            raise self.wrong(start)
        self.pos = m.end()
        return int(m.group(1), 16)
