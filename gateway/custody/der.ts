/** As much of the DER encoding (X.690) as a self-signed certificate needs. Pure. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function derSequence(...members: readonly Uint8Array[]): Buffer {
  return tagged(TAG.sequence, ...members);
}

/** Of one member: the order of several would have to be that of their encodings. */
export function derSetOf(member: Uint8Array): Buffer {
  return tagged(TAG.set, member);
}

/** `[number]` around a whole value. */
export function derExplicit(number: number, value: Uint8Array): Buffer {
  return tagged(0xa0 | number, value);
}

/** `bytes`: big-endian, positive: a byte of zero comes before a first bit that is set. */
export function derInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.byteLength - 1 && bytes[start] === 0) start++;
  const shortest = bytes.subarray(start);
  return (shortest[0] ?? 0) >= 0x80
    ? tagged(TAG.integer, Uint8Array.of(0), shortest)
    : tagged(TAG.integer, shortest.byteLength === 0 ? Uint8Array.of(0) : shortest);
}

export function derTrue(): Buffer {
  return tagged(TAG.boolean, Uint8Array.of(0xff));
}

/** `unusedBits`: how many of the last byte do not count; they are zeros. */
export function derBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return tagged(TAG.bitString, Uint8Array.of(unusedBits), bytes);
}

export function derOctetString(bytes: Uint8Array): Buffer {
  return tagged(TAG.octetString, bytes);
}

export function derUtf8(text: string): Buffer {
  return tagged(TAG.utf8String, Buffer.from(text, "utf8"));
}

/** `YYMMDDhhmmssZ`, for the years 1950 to 2049. */
export function derUtcTime(text: string): Buffer {
  return tagged(TAG.utcTime, Buffer.from(text, "ascii"));
}

/** `YYYYMMDDhhmmssZ`. */
export function derGeneralizedTime(text: string): Buffer {
  return tagged(TAG.generalizedTime, Buffer.from(text, "ascii"));
}

/** `dotted`: at least two arcs, the first two small enough for one byte. */
export function derObjectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split(".").map(Number);
  return tagged(TAG.objectId, Uint8Array.from([first * 40 + second, ...arcs.flatMap(base128)]));
}

function base128(arc: number): number[] {
  const digits = [arc & 0x7f];
  for (let rest = arc >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.of(tag, ...lengthBytes(content.byteLength)), content]);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) digits.unshift(rest & 0xff);
  return [0x80 | digits.length, ...digits];
}
