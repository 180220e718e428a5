"""What every format shares: the refusal, a bounded reader, and types that read and write themselves.

A value is plain Python: int, bool, bytes, None, list, dict. `show` and `parse` turn it into the JSON of the golden
vectors and back; no codec needs them.
"""


class Refused(Exception):
    """A refusal (KS-NAT-16): reason code, item, byte offset (None where it has no place), requirement."""

    def __init__(self, code, item, offset=None, req=""):
        super().__init__(f"{code}: {item}" + ("" if offset is None else f" at byte {offset}") + (f" ({req})" if req else ""))
        self.code, self.item, self.offset, self.req = code, item, offset, req


class Reader:
    """Reads data[pos:end]. Offsets are always those of the whole input."""

    def __init__(self, data, order, pos=0, end=None):
        self.data, self.order, self.pos = data, order, pos
        self.end = len(data) if end is None else end

    def left(self):
        return self.end - self.pos

    def take(self, n, item):
        if n > self.left():
            raise Refused("short-input", item, self.pos, "KS-NAT-2")
        self.pos += n
        return self.data[self.pos - n:self.pos]

    def number(self, size, item, signed=False):
        return int.from_bytes(self.take(size, item), self.order, signed=signed)

    def fixed(self, n, item):
        """Refuses a block of fixed size that is cut, at its start (KS-RSN-4)."""
        if n > self.left():
            raise Refused("short-input", item, self.pos, "KS-NAT-2")

    def done(self, item):
        if self.left():
            raise Refused("trailing-bytes", item, self.pos, "KS-NAT-2")


class Int:
    def __init__(self, size, signed=False):
        self.size, self.signed, self.least = size, signed, size

    def read(self, r, item):
        return r.number(self.size, item, self.signed)

    def write(self, v, order, item):
        try:
            return v.to_bytes(self.size, order, signed=self.signed)
        except OverflowError:
            raise Refused("bad-value", item, None, "KS-NAT-9") from None

    def show(self, v):
        return str(v) if self.size == 8 else v

    def parse(self, j):
        if self.size == 8 and not isinstance(j, str) or self.size < 8 and type(j) is not int:
            raise ValueError(f"not a number of {self.size} bytes: {j!r}")
        return int(j)


class Bool:
    least = 1

    def read(self, r, item):
        at, v = r.pos, r.number(1, item)
        if v > 1:
            raise Refused("bad-bool", item, at, "KS-NAT-5")
        return v == 1

    def write(self, v, order, item):
        return b"\1" if v else b"\0"

    def show(self, v):
        return v

    def parse(self, j):
        if type(j) is not bool:
            raise ValueError(f"not a bool: {j!r}")
        return j


class Raw:
    """A fixed number of bytes."""

    def __init__(self, size):
        self.size = self.least = size

    def read(self, r, item):
        return bytes(r.take(self.size, item))

    def write(self, v, order, item):
        if len(v) != self.size:
            raise Refused("bad-length", item, None, "KS-NAT-9")
        return v

    def show(self, v):
        return v.hex()

    def parse(self, j):
        return bytes.fromhex(j)


class Str:
    """A u64 length, then that many bytes. `blob` only changes how the vectors show it."""

    least = 8

    def __init__(self, blob=False):
        self.blob = blob

    def read(self, r, item):
        at, n = r.pos, r.number(8, item)
        if n > r.left():
            raise Refused("bad-length", item, at, "KS-NAT-4")
        return bytes(r.take(n, item))

    def write(self, v, order, item):
        return len(v).to_bytes(8, order) + v

    def show(self, v):
        return v.hex() if self.blob else v.decode("latin-1")

    def parse(self, j):
        return bytes.fromhex(j) if self.blob else j.encode("latin-1")


class List:
    least = 8

    def __init__(self, of):
        self.of = of

    def read(self, r, item):
        at, n = r.pos, r.number(8, item)
        if n * self.of.least > r.left():
            raise Refused("bad-count", item, at, "KS-NAT-4")
        return [self.of.read(r, item) for _ in range(n)]

    def write(self, v, order, item):
        return len(v).to_bytes(8, order) + b"".join(self.of.write(e, order, item) for e in v)

    def show(self, v):
        return [self.of.show(e) for e in v]

    def parse(self, j):
        return [self.of.parse(e) for e in j]


class Optional:
    """A bool, then the value if it is 1."""

    least = 1

    def __init__(self, of):
        self.of = of

    def read(self, r, item):
        return self.of.read(r, item) if Bool().read(r, item) else None

    def write(self, v, order, item):
        return b"\0" if v is None else b"\1" + self.of.write(v, order, item)

    def show(self, v):
        return None if v is None else self.of.show(v)

    def parse(self, j):
        return None if j is None else self.of.parse(j)


class Struct:
    """Fields in wire order: (name, type) or (name, type, test, requirement). A value that fails its test is bad-value."""

    def __init__(self, *fields):
        self.fields = [f if len(f) == 4 else (*f, None, "") for f in fields]
        self.least = sum(f[1].least for f in self.fields)

    def read(self, r, item):
        v = {}
        for name, kind, test, req in self.fields:
            at = r.pos
            v[name] = kind.read(r, name)
            if test and not test(v[name]):
                raise Refused("bad-value", name, at, req)
        return v

    def write(self, v, order, item):
        out = b""
        for name, kind, test, req in self.fields:
            if test and not test(v[name]):
                raise Refused("bad-value", name, None, req)
            out += kind.write(v[name], order, name)
        return out

    def show(self, v):
        return {name: kind.show(v[name]) for name, kind, _, _ in self.fields}

    def parse(self, j):
        names = {f[0] for f in self.fields}
        if set(j) != names:
            raise ValueError(f"fields differ: {sorted(set(j) ^ names)}")
        return {name: kind.parse(j[name]) for name, kind, _, _ in self.fields}


U8, U16, U32, U64, I32 = Int(1), Int(2), Int(4), Int(8), Int(4, signed=True)


def decode(kind, data, order, item):
    """Reads one value that must be all of data."""
    r = Reader(data, order)
    v = kind.read(r, item)
    r.done(item)
    return v


def crc32c(data):
    """CRC-32C (KS-CTL-4)."""
    crc = 0xFFFFFFFF
    for b in data:
        crc = _CRC[(crc ^ b) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _crc_entry(c):
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    return c


_CRC = [_crc_entry(i) for i in range(256)]
