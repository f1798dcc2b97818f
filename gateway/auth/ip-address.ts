/**
 * IP addresses and blocks of them, read strictly: whatever two programs could read as two addresses is none. No octal or
 * short IPv4 forms, no zone ids, no brackets, no ports.
 *
 * Both families are 128 bits here. An IPv4 address is its IPv4-mapped form (`::ffff:a.b.c.d`), which is also how a
 * socket of both families shows it, so the two forms are one address.
 */

/** Four words of 32 bits, the highest first. */
export type Address = readonly [number, number, number, number];

export interface AddressBlock {
  readonly base: Address;
  /** Of the 128 bits; at least 96 for IPv4. */
  readonly prefixBits: number;
}

/** The longest form: eight groups with an IPv4 tail. */
const MAX_ADDRESS_CHARS = 45;
const MAPPED_PREFIX_BITS = 96;
const MAPPED_WORD = 0xffff;
const OCTET = /^(?:0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;
const BITS = /^(?:0|[1-9][0-9]{0,2})$/;

/** Returns null for whatever is not exactly one address. */
export function parseAddress(text: string): Address | null {
  if (text.length > MAX_ADDRESS_CHARS) return null;
  if (text.includes(":")) return parseV6(text);
  const word = parseV4(text);
  return word === null ? null : [0, 0, MAPPED_WORD, word];
}

/** An address, or `address/bits` whose host bits are zero: a block with others was meant to be another block. */
export function parseBlock(text: string): AddressBlock | null {
  const slash = text.indexOf("/");
  const base = parseAddress(slash === -1 ? text : text.slice(0, slash));
  if (base === null) return null;
  if (slash === -1) return { base, prefixBits: 128 };
  const bitsText = text.slice(slash + 1);
  const isV4Form = !text.includes(":");
  const bits = BITS.test(bitsText) ? Number(bitsText) : Number.NaN;
  if (!(bits <= (isV4Form ? 32 : 128))) return null;
  const prefixBits = isV4Form ? MAPPED_PREFIX_BITS + bits : bits;
  return base.every((word, index) => (word & ~maskOf(prefixBits, index)) === 0) ? { base, prefixBits } : null;
}

/** An IPv6 block such as `::/0` holds no IPv4 address, although their mapped forms are in it. */
export function isInBlock(address: Address, block: AddressBlock): boolean {
  if (isV4(address) && block.prefixBits < MAPPED_PREFIX_BITS) return false;
  for (let index = 0; index < 4; index++) {
    const mask = maskOf(block.prefixBits, index);
    if ((((address[index] as number) ^ (block.base[index] as number)) & mask) !== 0) return false;
  }
  return true;
}

/** The one text of an address: dotted for IPv4, RFC 5952 for IPv6. */
export function addressText(address: Address): string {
  const last = address[3];
  if (isV4(address)) return [last >>> 24, (last >>> 16) & 0xff, (last >>> 8) & 0xff, last & 0xff].join(".");
  const groups = address.flatMap((word) => [word >>> 16, word & 0xffff]);
  const { from, count } = longestZeros(groups);
  const hex = groups.map((group) => group.toString(16));
  if (count < 2) return hex.join(":");
  return `${hex.slice(0, from).join(":")}::${hex.slice(from + count).join(":")}`;
}

export function blockText({ base, prefixBits }: AddressBlock): string {
  // A base of IPv4 has its lowest mapping bit set, so its block has 96 bits at least.
  const bits = isV4(base) ? prefixBits - MAPPED_PREFIX_BITS : prefixBits;
  return prefixBits === 128 ? addressText(base) : `${addressText(base)}/${bits}`;
}

function isV4(address: Address): boolean {
  return address[0] === 0 && address[1] === 0 && address[2] === MAPPED_WORD;
}

function maskOf(prefixBits: number, index: number): number {
  const bits = Math.min(32, Math.max(0, prefixBits - 32 * index));
  return bits === 0 ? 0 : (0xffffffff << (32 - bits)) | 0;
}

/** Null, or the 32 bits as an unsigned number. */
function parseV4(text: string): number | null {
  const octets = text.split(".");
  if (octets.length !== 4) return null;
  let word = 0;
  for (const octet of octets) {
    if (!OCTET.test(octet) || Number(octet) > 255) return null;
    word = word * 256 + Number(octet);
  }
  return word;
}

function parseV6(text: string): Address | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [before = "", after] = halves;
  const head = groupsOf(before, after === undefined);
  const tail = after === undefined ? [] : groupsOf(after, true);
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  // A double colon replaces one group at least.
  if (after === undefined ? missing !== 0 : missing < 1) return null;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  const word = (index: number): number => (groups[index] as number) * 0x10000 + (groups[index + 1] as number);
  return [word(0), word(2), word(4), word(6)];
}

/** Groups between colons; `isEnd`: the last one may be an IPv4 address, which is two. */
function groupsOf(text: string, isEnd: boolean): number[] | null {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (GROUP.test(part)) groups.push(Number.parseInt(part, 16));
    else if (!isEnd || index !== parts.length - 1) return null;
    else {
      const word = parseV4(part);
      if (word === null) return null;
      groups.push(Math.floor(word / 0x10000), word % 0x10000);
    }
  }
  return groups.length > 8 ? null : groups;
}

function longestZeros(groups: readonly number[]): { from: number; count: number } {
  const best = { from: 0, count: 0 };
  for (let from = 0; from < groups.length; from++) {
    let count = 0;
    while (groups[from + count] === 0) count++;
    if (count > best.count) Object.assign(best, { from, count });
  }
  return best;
}
