/**
 * A backup file written a second time from section 13 of docs/mpc.md, apart from the code: X25519 as a ladder of plain
 * numbers, HKDF out of HMAC, GCM out of single AES blocks.
 */
import { createCipheriv, createHash, createHmac } from "node:crypto";

const P25519 = 2n ** 255n - 19n;

export interface SlowBackup {
  readonly party: number;
  readonly walletId: Buffer;
  readonly epoch: number;
  readonly ctr: bigint;
  readonly tag: Buffer;
  readonly share: Buffer;
  /** P, P_0, P_1. */
  readonly points: readonly Buffer[];
  /** S: ownerId, userId, createdAt in u64. */
  readonly owner: readonly Buffer[];
  readonly backupKey: Buffer;
  readonly ephemeral: Buffer;
  readonly iv: Buffer;
}

export function slowBackupFile(given: SlowBackup): Buffer {
  const { party, walletId, epoch, ctr, tag, share, points, owner, backupKey, ephemeral, iv } = given;
  const ephemeralKey = slowX25519(ephemeral, littleEndian(9n));
  const header = Buffer.concat([
    Buffer.from("U2BK"),
    Buffer.from([1, party]),
    walletId,
    number(epoch, 4),
    createHash("sha256").update(backupKey).digest(),
    points[0] ?? Buffer.alloc(0),
    ephemeralKey,
  ]);
  const suite = createHash("sha256").update("u2e/1/secp256k1-256-416-208-3/").digest();
  const head = [suite, walletId, Buffer.from([party]), number(epoch, 4), number(ctr, 8), tag, share, ...points];
  const plaintext = Buffer.concat([...head, ...owner.flatMap((field) => [number(field.length, 4), field])]);
  const prk = hmac(Buffer.concat([ephemeralKey, backupKey]), slowX25519(ephemeral, backupKey));
  const key = hmac(prk, Buffer.from("u2e/1/backup\x01"));
  const info = Buffer.from("u2e/1/backup");
  const data = Buffer.concat([number(info.length, 4), info, number(header.length, 4), header]);
  return Buffer.concat([header, iv, slowGcm(key, iv, data, plaintext)]);
}

/** RFC 7748, section 5. */
export function slowX25519(scalarBytes: Buffer, point: Buffer): Buffer {
  const clamped = Buffer.from(scalarBytes);
  clamped[0] = (clamped[0] ?? 0) & 248;
  clamped[31] = ((clamped[31] ?? 0) & 127) | 64;
  const scalar = fromLittleEndian(clamped);
  const u = fromLittleEndian(point) % 2n ** 255n;
  let [x2, z2, x3, z3] = [1n, 0n, u, 1n];
  for (let bit = 254n; bit >= 0n; bit--) {
    const isSet = ((scalar >> bit) & 1n) === 1n;
    if (isSet) [x2, z2, x3, z3] = [x3, z3, x2, z2];
    const [a, b, c, d] = [x2 + z2, x2 - z2, x3 + z3, x3 - z3];
    const [da, cb] = [mod(d * a), mod(c * b)];
    x3 = mod((da + cb) ** 2n);
    z3 = mod(u * mod((da - cb) ** 2n));
    const [aa, bb] = [mod(a * a), mod(b * b)];
    x2 = mod(aa * bb);
    z2 = mod((aa - bb) * (aa + 121_665n * (aa - bb)));
    if (isSet) [x2, z2, x3, z3] = [x3, z3, x2, z2];
  }
  return littleEndian(mod(x2 * power(z2, P25519 - 2n)));
}

/** NIST SP 800-38D: ciphertext ‖ tag. */
export function slowGcm(key: Buffer, iv: Buffer, data: Buffer, plaintext: Buffer): Buffer {
  const hashKey = fromBigEndian(block(key, Buffer.alloc(16)));
  const counter = (value: number) => Buffer.concat([iv, number(value, 4)]);
  const ciphertext = Buffer.alloc(plaintext.length);
  for (let at = 0; at < plaintext.length; at++) {
    const stream = block(key, counter(2 + Math.floor(at / 16)));
    ciphertext[at] = (plaintext[at] ?? 0) ^ (stream[at % 16] ?? 0);
  }
  const lengths = Buffer.concat([number(data.length * 8, 8), number(ciphertext.length * 8, 8)]);
  let hash = 0n;
  for (const part of [padded(data), padded(ciphertext), lengths])
    for (let at = 0; at < part.length; at += 16)
      hash = gcmProduct(hash ^ fromBigEndian(part.subarray(at, at + 16)), hashKey);
  const tag = hash ^ fromBigEndian(block(key, counter(1)));
  return Buffer.concat([ciphertext, number(tag, 16)]);
}

function gcmProduct(left: bigint, right: bigint): bigint {
  let [product, factor] = [0n, right];
  for (let bit = 127n; bit >= 0n; bit--) {
    if (((left >> bit) & 1n) === 1n) product ^= factor;
    factor = (factor & 1n) === 1n ? (factor >> 1n) ^ (0xe1n << 120n) : factor >> 1n;
  }
  return product;
}

function block(key: Buffer, input: Buffer): Buffer {
  return createCipheriv("aes-256-ecb", key, null).update(input);
}

function hmac(key: Buffer, input: Buffer): Buffer {
  return createHmac("sha256", key).update(input).digest();
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((16 - (bytes.length % 16)) % 16)]);
}

function number(value: number | bigint, byteLength: number): Buffer {
  return Buffer.from(value.toString(16).padStart(byteLength * 2, "0"), "hex");
}

function fromBigEndian(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

function fromLittleEndian(bytes: Buffer): bigint {
  return fromBigEndian(Buffer.from(bytes).reverse());
}

function littleEndian(value: bigint): Buffer {
  return number(value, 32).reverse();
}

function mod(value: bigint): bigint {
  return ((value % P25519) + P25519) % P25519;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, mod(base)];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
