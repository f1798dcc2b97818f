/**
 * What a room offers where its venue lets a server wallet have keys that trade for it (interface spec 4.2). The room
 * knows the venue's acts and lists; what is made durable, and when, is engine/custody/registration.
 *
 * Invariants of an implementation: `send` sends once. Its outcome is `refused` or `notSent` only where what it sent did
 * not take effect and cannot later. No method throws for what a venue, a network or a signer does, but `issue` rejects with
 * what its `sign` rejects with. Bytes of a secret are not kept after a call.
 */
import type { CallOptions, MarketRoom, Read } from "./ports.js";

/** A key at a venue, without its secret: plain data, stored as it is. */
export interface VenueKey {
  /** The wallet's address, lower case. */
  readonly account: string;
  /** Address of the key, lower case; of a key without an address the wallet's. */
  readonly signer: string;
  /** Its name at the venue. */
  readonly name: string;
  /** Unix epoch, integer ms; null: it has no end. */
  readonly expiresAtMs: number | null;
}

/**
 * A stored secret in a block of credentials, opened each time that a session is made of it: whoever keeps the block keeps
 * no secret. Only this service makes one, so no block from outside has it.
 */
export class StoredSecret {
  readonly #label: string;
  readonly #open: () => Uint8Array | null;
  readonly #present: () => unknown;

  /**
   * `label`: public, and of this key alone: blocks of two keys are different ones, also as JSON. `open`: a buffer of its
   * own; null where the secret is gone, or cannot be opened. `present`: the block by which the wallet trades there when it
   * is asked for; null where it does not.
   */
  constructor(label: string, open: () => Uint8Array | null, present: () => unknown = () => null) {
    this.#label = label;
    this.#open = open;
    this.#present = present;
  }

  /** Null: it cannot be opened now. `use` must not keep the bytes: they are wiped after it. */
  use<T>(use: (secret: Uint8Array) => T): T | null {
    const secret = this.#open();
    if (secret === null) return null;
    try {
      return use(secret);
    } finally {
      secret.fill(0);
    }
  }

  /** A secret that is a part of this one. */
  part(of: (secret: Uint8Array) => Uint8Array): StoredSecret {
    return new StoredSecret(this.#label, () => this.use((secret) => copyOf(of(secret))), this.#present);
  }

  /** The block of the key that has followed this one; null: this one is the last. */
  successor(): Readonly<Record<string, unknown>> | null {
    const block = this.#present();
    const secret = storedSecretIn(block);
    return secret === null || secret.#label === this.#label ? null : (block as Readonly<Record<string, unknown>>);
  }

  toJSON(): object {
    return { stored: this.#label };
  }
}

/** The stored secret of a block; null: it has none, as a caller's own. */
export function storedSecretIn(block: unknown): StoredSecret | null {
  if (block === null || typeof block !== "object") return null;
  for (const value of Object.values(block)) if (value instanceof StoredSecret) return value;
  return null;
}

/** At an address that stays: the collector moves small buffers, and leaves what was there. */
function copyOf(secret: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new ArrayBuffer(secret.byteLength));
  copy.set(secret);
  return copy;
}

/** What the wallet signs: JSON of EIP-712, or a text (EIP-191). */
export interface WalletText {
  readonly kind: "typedData" | "message";
  readonly text: string;
}

/** 65 bytes r ‖ s ‖ v, as `0x` hex. */
export const SIGNATURE_TEXT = /^0x[0-9a-fA-F]{130}$/;

/** An act of the wallet at the venue, not signed yet. */
export interface WalletAct {
  readonly toSign: WalletText;
  /** What `send` needs beside the signature, as the room reads it again; no secret. It is stored. */
  readonly request: string;
  /**
   * Unix epoch, integer ms: at the end of it the venue takes this act no more. What became of it before is then seen by
   * `look`; before that, sending the same bytes again acts at most once.
   */
  readonly validUntilMs: number;
}

export type MadeAct = { readonly ok: true; readonly act: WalletAct } | NotSentAct;

/** Nothing left; the same may be asked again. */
export interface NotSentAct {
  readonly ok: false;
  readonly problem: string;
  readonly retryAfterMs: number | null;
}

/** This copy did not take effect, and never will. */
export interface RefusedAct<Reason extends string> {
  readonly kind: "refused";
  readonly reason: Reason;
  /** The venue's own text, cleaned for replies. */
  readonly venueText: string;
  readonly retryAfterMs: number | null;
  /** These bytes never act, whenever a copy of them arrives that was sent before: they are used up, or no act. */
  readonly isSpent: boolean;
}

/** Of an act that is not known to have taken effect now. */
export type UndoneAct<Reason extends string> =
  | RefusedAct<Reason>
  | { readonly kind: "notSent"; readonly problem: string; readonly retryAfterMs: number | null }
  /** The venue has had this very act before: it took effect then or was refused, which `look` shows. */
  | { readonly kind: "repeated" }
  | { readonly kind: "unknown" };

export type ActOutcome = { readonly kind: "done" } | UndoneAct<ActRefusal>;

export type ActRefusal =
  /** The account has no deposit yet. */
  | "NOT_FUNDED"
  /** As many keys as the venue allows. */
  | "KEY_LIMIT"
  /** A key was revoked a moment ago. */
  | "BUSY"
  | "RATE_LIMITED"
  | "OTHER";

export type KeyStanding = "live" | "absent";

/** Keys that are made here and approved by an act of the wallet. */
export interface AgentRegistrar {
  readonly kind: "agent";
  /** Names that the keys of one wallet may have at once. */
  readonly names: readonly string[];
  /** Ms after an answer of the venue in which its lists may not show it yet. */
  readonly listLagMs: number;
  /** Ms after an approval in which the venue may still refuse requests with the key; 0: it takes them at once. */
  readonly takeUpMs: number;
  /** `secret`: 32 bytes. Null: no key of the curve. Sends nothing. */
  draft(
    wallet: { readonly account: string; readonly name: string; readonly nowMs: number },
    secret: Uint8Array,
  ): VenueKey | null;
  approval(key: VenueKey): Promise<MadeAct>;
  revocation(key: VenueKey): Promise<MadeAct>;
  /** `signature`: 65 bytes r ‖ s ‖ v as `0x` hex, v 27 or 28. */
  send(act: Pick<WalletAct, "request">, signature: string, options: CallOptions): Promise<ActOutcome>;
  /** Whether the venue knows the key as one of this account now, read from the venue. */
  look(key: VenueKey, secret: Uint8Array, options: CallOptions): Promise<Read<KeyStanding>>;
  /** The block of interface spec 2.3 by which a request trades with it; in the secret's place stands `secret`. */
  block(key: VenueKey, secret: StoredSecret): unknown;
}

/** Keys that the venue makes and shows once. It has no call that deletes one. */
export interface IssuingRegistrar {
  readonly kind: "issued";
  /**
   * `sign`: a signature as above. `secret` of the outcome is the caller's to wipe. `unknown`: the venue may have made a
   * key whose secret nobody has.
   */
  issue(
    account: string,
    sign: (text: WalletText) => Promise<string>,
    options: CallOptions,
  ): Promise<
    | { readonly kind: "done"; readonly key: VenueKey; readonly secret: Uint8Array }
    | Exclude<ActOutcome, { readonly kind: "done" | "repeated" }>
  >;
  block(key: VenueKey, secret: StoredSecret): unknown;
}

export type KeyRegistrar = AgentRegistrar | IssuingRegistrar;

/** A room whose venue gives wallets keys. */
export interface KeyRoom extends MarketRoom {
  readonly keys: KeyRegistrar;
}

export function isKeyRoom(room: MarketRoom): room is KeyRoom {
  return "keys" in room;
}
