// hot path
/**
 * The keys in memory, with their opened secrets: what a request is checked against. What is stored of them is in
 * key-rows.ts; api-keys.ts changes both.
 *
 * Invariant: the secrets of a revoked key are wiped in the turn in which it is revoked.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Scope } from "../../schemas/operation.js";
import type { Caller } from "../http/caller.js";
import type { IpList } from "./ip-list.js";
import type { SigningSecret } from "./signing-secret.js";

export interface KeyFacts {
  readonly keyId: string;
  readonly ownerId: string;
  readonly scopes: readonly Scope[];
  /** Empty: any address. */
  readonly ips: IpList;
}

/** The end of an overlap, by either clock. */
export interface Overlap {
  readonly wallMs: number;
  readonly monoNs: number;
}

const NEVER: Overlap = { wallMs: 0, monoNs: 0 };

export function overlapUntil(clock: Clock, untilMs: number): Overlap {
  return { wallMs: untilMs, monoNs: clock.monoNs() + (untilMs - clock.wallMs()) * 1e6 };
}

export class LiveKey {
  readonly caller: Caller;
  readonly ips: IpList;
  /** Null once it is revoked, or where it could not be opened. */
  present: SigningSecret | null;
  former: SigningSecret | null = null;
  /** The former secret works up to both: a clock set forward ends it, one set back does not prolong it. */
  #formerUntil = NEVER;
  /** Its row has one, opened here or not. */
  #isFormerStored = false;
  /** Wall ms; 0: it is not revoked. */
  revokedAtMs = 0;
  /**
   * The present secret was made by this process: no process before can have accepted a signature of it. So the
   * high-water mark of the writes before the start does not concern it, and a rotation ends its refusals after a clock
   * was set back.
   */
  isPresentNew = false;
  /** Wall ms; 0: never. */
  lastUsedAtMs = 0;
  /** `lastUsedAtMs` is not stored yet. */
  isUseUnsaved = false;

  constructor(facts: KeyFacts, present: SigningSecret | null) {
    const { keyId, ownerId, scopes } = facts;
    this.caller = Object.freeze({ ownerId, keyId, scopes: new Set(scopes) });
    this.ips = facts.ips;
    this.present = present;
  }

  get isRevoked(): boolean {
    return this.revokedAtMs !== 0;
  }

  /** `overlap` null: the present secret ends at once. */
  rotate(present: SigningSecret, overlap: Overlap | null): void {
    const before = this.present;
    this.dropFormer();
    if (overlap === null || before === null) before?.wipe();
    else this.keepFormer(before, overlap);
    this.present = present;
    this.isPresentNew = true;
  }

  keepFormer(former: SigningSecret, until: Overlap): void {
    this.former = former;
    this.#formerUntil = until;
    this.#isFormerStored = true;
  }

  /** One that is stored and does not work here is over from then on, by the monotonic clock. */
  outliveFormer(untilNs: number): void {
    this.#formerUntil = { ...NEVER, monoNs: untilNs };
    this.#isFormerStored = true;
  }

  /** The secret before the rotation, where it works still. */
  formerAt(nowMs: number, nowNs: number): SigningSecret | null {
    return nowMs <= this.#formerUntil.wallMs && nowNs <= this.#formerUntil.monoNs ? this.former : null;
  }

  /** Its time is over for good, whatever the wall clock shows. */
  isFormerOver(nowNs: number): boolean {
    return this.#isFormerStored && nowNs > this.#formerUntil.monoNs;
  }

  dropFormer(): void {
    this.former?.wipe();
    this.former = null;
    this.#formerUntil = NEVER;
    this.#isFormerStored = false;
  }

  wipe(): void {
    this.present?.wipe();
    this.present = null;
    this.dropFormer();
  }
}

/** Must not throw; what one throws keeps no other from being called. */
export type RevokedListener = (keyId: string) => void;

export class KeyTable {
  readonly #keys = new Map<string, LiveKey>();
  readonly #listeners = new Set<RevokedListener>();

  /** The caller bounds them (api-keys.ts). */
  add(keyId: string, key: LiveKey): void {
    this.#keys.set(keyId, key);
  }

  get(keyId: string): LiveKey | undefined {
    return this.#keys.get(keyId);
  }

  /** Forgets a key that is revoked. */
  delete(keyId: string): void {
    this.#keys.delete(keyId);
  }

  entries(): IterableIterator<[string, LiveKey]> {
    return this.#keys.entries();
  }

  /**
   * In the same turn all of its secrets are gone and the listeners have been called. Again: nothing. Returns what
   * listeners threw.
   */
  revoke(keyId: string, nowMs: number): readonly unknown[] {
    const key = this.#keys.get(keyId);
    if (key === undefined || key.isRevoked) return [];
    key.revokedAtMs = Math.max(1, nowMs);
    key.wipe();
    const faults: unknown[] = [];
    for (const listener of this.#listeners) {
      try {
        listener(keyId);
      } catch (error) {
        faults.push(error);
      }
    }
    return faults;
  }

  /** Called with each key that is revoked. Returns what ends it. */
  onRevoked(listener: RevokedListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  wipe(): void {
    for (const key of this.#keys.values()) key.wipe();
    this.#keys.clear();
  }
}
