/**
 * Whom a party talks to: a pin is the SHA-256 of a key's SubjectPublicKeyInfo (DER). Nothing else of a certificate
 * decides (docs/mpc.md, 3.1); the handshake proves that the peer holds the key.
 */
import { createHash, type KeyObject, timingSafeEqual } from "node:crypto";

/** The present key and the next one, while a key is changed. */
export const PINS_MAX = 2;

const FORM = /^sha256:([0-9a-fA-F]{64})$/;

/** 32 bytes. */
export function pinOf(publicKey: KeyObject): Buffer {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
}

/** `sha256:` and 64 hex digits, lower case. */
export function formatPin(pin: Uint8Array): string {
  return `sha256:${Buffer.from(pin).toString("hex")}`;
}

export type ParsedPins =
  | { readonly ok: true; readonly pins: readonly Buffer[] }
  /** For the operator. Pins are public. */
  | { readonly ok: false; readonly problem: string };

/** One pin or two with a comma between them; blanks around a pin do not count. */
export function parsePins(text: string): ParsedPins {
  const pins: Buffer[] = [];
  for (const part of text.split(",")) {
    const digits = FORM.exec(part.trim())?.[1];
    if (digits === undefined)
      return { ok: false, problem: "a pin is sha256: and 64 hex digits; two are separated by a comma" };
    const pin = Buffer.from(digits, "hex");
    if (isPinned(pins, pin)) return { ok: false, problem: "the same pin is given twice" };
    pins.push(pin);
  }
  if (pins.length > PINS_MAX)
    return {
      ok: false,
      problem: `at most ${PINS_MAX} pins are taken, the present one and the next: take the former one away`,
    };
  return { ok: true, pins };
}

/** Compares with every pin, each in constant time. */
export function isPinned(pins: readonly Uint8Array[], pin: Uint8Array): boolean {
  let isFound = false;
  for (const each of pins) isFound = timingSafeEqual(each, pin) || isFound;
  return isFound;
}
