/** The names of a wallet as text: 16 bytes as a UUID, the key as hex, the address with the capitals of EIP-55. */
import { keccak_256 } from "@noble/hashes/sha3";
import { addressOf, decodePoint } from "../mpc/base/point.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** UUID, lower case. */
export function walletIdText(walletId: Uint8Array): string {
  const hex = Buffer.from(walletId).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Null for what is not a UUID in lower case. */
export function walletIdBytes(text: string): Buffer | null {
  return UUID.test(text) ? Buffer.from(text.replaceAll("-", ""), "hex") : null;
}

/** 16 random bytes with the marks of a random UUID. */
export function markedWalletId(random: Uint8Array): Buffer {
  const bytes = Buffer.from(random);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes;
}

/** `publicKey`: 33 bytes. 20 bytes. */
export function addressBytesOf(publicKey: Uint8Array): Buffer {
  return addressOf(decodePoint(Buffer.from(publicKey), "P"));
}

/** EIP-55: a letter is a capital where the hash of the address has a digit of 8 or more. */
export function addressText(address: Uint8Array): string {
  const hex = Buffer.from(address).toString("hex");
  const hash = Buffer.from(keccak_256(Buffer.from(hex, "ascii"))).toString("hex");
  const letters = [...hex].map((letter, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? letter.toUpperCase() : letter,
  );
  return `0x${letters.join("")}`;
}
