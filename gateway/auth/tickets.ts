/**
 * Tickets for the stream: a browser cannot sign the opening of a socket, so it asks for a ticket by a signed request and
 * sends it in its first frame. A ticket works once, for 30 s, for the key and from the address that asked for it.
 *
 * Only its SHA-256 is kept. The table is searched by that digest, of which nobody can choose the first characters, so
 * the time of a search says nothing about tickets that exist. Times are monotonic: a clock set back prolongs nothing.
 */
import { hash } from "node:crypto";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Caller } from "../http/caller.js";
import type { KeyTable } from "./key-table.js";
import { type FillRandom, mintTicket } from "./secret-text.js";

export const TICKET_MS = 30_000;
/** Of one key; one more ends its oldest. */
export const TICKETS_PER_KEY_MAX = 16;
/** Of all keys; then none is given. */
const TICKETS_MAX = 16_384;
/** Longer texts are no tickets, and are not hashed. */
const TICKET_CHARS_MAX = 64;

interface Ticket {
  readonly keyId: string;
  readonly address: string;
  readonly expiresAtNs: number;
}

export interface IssuedTicket {
  /** Shown once. */
  readonly ticket: string;
  /** Wall ms. */
  readonly expiresAt: number;
}

export class StreamTickets {
  readonly #keys: KeyTable;
  readonly #clock: Clock;
  readonly #fill: FillRandom;
  /** By digest, oldest first: all live equally long. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #digestsOfKey = new Map<string, string[]>();

  constructor(keys: KeyTable, clock: Clock, fill: FillRandom) {
    this.#keys = keys;
    this.#clock = clock;
    this.#fill = fill;
    keys.onRevoked((keyId) => this.#endAll(keyId));
  }

  get size(): number {
    return this.#tickets.size;
  }

  /** `address`: as the caller's is given to the authenticator. Throws OVERLOADED. */
  issue(keyId: string, address: string): IssuedTicket {
    this.#endExpired();
    if (this.#tickets.size >= TICKETS_MAX) throw new ServiceError("OVERLOADED", { what: "tickets" });
    const ofKey = this.#digestsOfKey.get(keyId) ?? [];
    if (ofKey.length >= TICKETS_PER_KEY_MAX) this.#end(ofKey[0] ?? "");
    const ticket = mintTicket(this.#fill);
    const digest = hash("sha256", ticket, "hex");
    this.#tickets.set(digest, { keyId, address, expiresAtNs: this.#clock.monoNs() + TICKET_MS * 1e6 });
    this.#digestsOfKey.set(keyId, [...(this.#digestsOfKey.get(keyId) ?? []), digest]);
    return { ticket, expiresAt: this.#clock.wallMs() + TICKET_MS };
  }

  /**
   * Null: no such ticket, used, expired, of a revoked key, or shown from another address. Whatever the answer, a ticket
   * that was shown is used up: one that came from another address is known to somebody else.
   */
  redeem(ticket: string, address: string): Caller | null {
    if (ticket.length > TICKET_CHARS_MAX) return null;
    const digest = hash("sha256", ticket, "hex");
    const found = this.#tickets.get(digest);
    if (found === undefined) return null;
    this.#end(digest);
    const key = this.#keys.get(found.keyId);
    const isLive = this.#clock.monoNs() < found.expiresAtNs && key !== undefined && !key.isRevoked;
    return isLive && found.address === address ? key.caller : null;
  }

  #endExpired(): void {
    const nowNs = this.#clock.monoNs();
    for (const [digest, { expiresAtNs }] of this.#tickets) {
      if (expiresAtNs > nowNs) return;
      this.#end(digest);
    }
  }

  #end(digest: string): void {
    const ticket = this.#tickets.get(digest);
    if (ticket === undefined) return;
    this.#tickets.delete(digest);
    const left = (this.#digestsOfKey.get(ticket.keyId) ?? []).filter((one) => one !== digest);
    if (left.length === 0) this.#digestsOfKey.delete(ticket.keyId);
    else this.#digestsOfKey.set(ticket.keyId, left);
  }

  #endAll(keyId: string): void {
    for (const digest of this.#digestsOfKey.get(keyId) ?? []) this.#end(digest);
  }
}
