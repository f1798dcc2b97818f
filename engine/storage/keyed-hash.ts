/**
 * Ports for keyed hashing and unguessable ids, so that the order code needs no crypto module and a simulation can be
 * replayed; server-secret.ts implements them.
 */

export interface KeyedHash {
  /**
   * Lower-case hex HMAC-SHA256 over purpose and parts, each with its length before it, so that no two
   * lists of parts share an encoding.
   */
  hmacHex(purpose: string, parts: readonly (string | Uint8Array)[]): string;
}

export interface RandomIds {
  /** 128 unguessable bits as 32 lower-case hex digits. */
  randomHex128(): string;
}
