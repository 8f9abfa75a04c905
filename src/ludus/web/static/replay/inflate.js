// Inflate (RFC 1950, 1951) for browsers without DecompressionStream.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// Canonical Huffman code: how many codes of each length, and the symbols in code order.
function huffman(lengths) {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  const offsets = new Uint16Array(17);
  for (let i = 1; i < 16; i++) offsets[i + 1] = offsets[i] + counts[i];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[offsets[length]++] = symbol;
  });
  return { counts, symbols };
}

class BitReader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
    this.held = 0;
    this.count = 0;
  }
  bits(n) {
    while (this.count < n) {
      if (this.at >= this.bytes.length) throw new Error("the compressed data ends early");
      this.held |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << n) - 1);
    this.held >>>= n;
    this.count -= n;
    return value;
  }
  symbol({ counts, symbols }) {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length < 16; length++) {
      code |= this.bits(1);
      const count = counts[length];
      if (code - count < first) return symbols[index + (code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("the compressed data is damaged");
  }
  alignToByte() {
    this.held = 0;
    this.count = 0;
  }
}

function dynamicCodes(reader) {
  const literals = reader.bits(5) + 257;
  const distances = reader.bits(5) + 1;
  const given = reader.bits(4) + 4;
  const lengths = new Array(19).fill(0);
  for (let i = 0; i < given; i++) lengths[CODE_LENGTH_ORDER[i]] = reader.bits(3);
  const code = huffman(lengths);
  const all = [];
  while (all.length < literals + distances) {
    const symbol = reader.symbol(code);
    if (symbol < 16) {
      all.push(symbol);
    } else {
      const value = symbol === 16 ? all[all.length - 1] : 0;
      const times = symbol === 16 ? 3 + reader.bits(2) : symbol === 17 ? 3 + reader.bits(3) : 11 + reader.bits(7);
      for (let i = 0; i < times; i++) all.push(value);
    }
  }
  return [huffman(all.slice(0, literals)), huffman(all.slice(literals))];
}

function fixedCodes() {
  const lengths = [];
  for (let i = 0; i < 288; i++) lengths.push(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  return [huffman(lengths), huffman(new Array(30).fill(5))];
}

class Output {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }
  reserve(n) {
    if (this.length + n <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.length + n, this.bytes.length * 2));
    larger.set(this.bytes);
    this.bytes = larger;
  }
  push(byte) {
    this.reserve(1);
    this.bytes[this.length++] = byte;
  }
  copyBack(distance, length) {
    if (distance > this.length) throw new Error("the compressed data is damaged");
    this.reserve(length);
    for (let i = 0; i < length; i++, this.length++) this.bytes[this.length] = this.bytes[this.length - distance];
  }
}

function inflateBlock(reader, out, literalCode, distanceCode) {
  for (;;) {
    const symbol = reader.symbol(literalCode);
    if (symbol === 256) return;
    if (symbol < 256) {
      out.push(symbol);
      continue;
    }
    const length = LENGTH_BASE[symbol - 257] + reader.bits(LENGTH_EXTRA[symbol - 257]);
    const code = reader.symbol(distanceCode);
    const extra = code < 4 ? 0 : (code >> 1) - 1;
    const base = code < 4 ? code + 1 : ((2 + (code & 1)) << extra) + 1;
    out.copyBack(base + reader.bits(extra), length);
  }
}

// bytes: a zlib stream. Returns what it holds.
export function inflate(bytes) {
  const reader = new BitReader(bytes, 2);
  const out = new Output();
  let last = 0;
  while (!last) {
    last = reader.bits(1);
    const kind = reader.bits(2);
    if (kind === 0) {
      reader.alignToByte();
      const length = reader.bits(16);
      reader.bits(16);
      for (let i = 0; i < length; i++) out.push(reader.bits(8));
    } else if (kind < 3) {
      inflateBlock(reader, out, ...(kind === 1 ? fixedCodes() : dynamicCodes(reader)));
    } else {
      throw new Error("the compressed data is damaged");
    }
  }
  return out.bytes.subarray(0, out.length);
}
