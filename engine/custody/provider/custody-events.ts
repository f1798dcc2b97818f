/**
 * What a party tells audit, metrics and alerts. Invariant: no secret, no check, no field of the protocol.
 */
import type { RefusalCode } from "../mpc/base/outcome.js";
import type { Party } from "../mpc/base/parameters.js";
import type { RefreshMode } from "../mpc/state/state-row.js";

/** What an operator should look at. */
export type CustodyAlert =
  /** Three violations of one wallet in ten minutes: its sessions are refused for ten minutes. */
  | "VIOLATIONS"
  /** More than three freeze notices of the peer in a minute. */
  | "FREEZE_NOTICES"
  /** The two programs read one intent in two ways. */
  | "DIGESTS_DIFFER"
  | "TAGS_DIFFER"
  /** Both parties meet again and again and agree on nothing. */
  | "NEVER_SETTLES"
  /** A party has a wallet that the other lost, or an older store was put back. */
  | "RESTORED_STORE"
  | "STORE_FAILED"
  | "BACKUP_FAILED"
  | "FAULT";

/** A caller or an operator of this party asked for it: that act leaves a row of its own, with who asked. */
interface Asked {
  readonly isAsked: boolean;
}

/** Wallets by UUID. */
export type CustodyEvent =
  | (Asked & { readonly kind: "created"; readonly walletId: string })
  | (Asked & {
      readonly kind: "refreshed";
      readonly walletId: string;
      readonly epoch: number;
      /** Null: an earlier start knew it. */
      readonly mode: RefreshMode | null;
    })
  /** An operator's act; not asked for: the store has taken it later than he waited. */
  | (Asked & { readonly kind: "restored"; readonly walletId: string; readonly epoch: number })
  /** `cheat`: a check of this party failed. `peer`: the other party gave notice. */
  | { readonly kind: "frozen"; readonly walletId: string; readonly by: "cheat" | "peer"; readonly atMs: number }
  | (Asked & {
      readonly kind: "refused";
      readonly walletId: string;
      readonly code: RefusalCode;
      readonly rule: number;
    })
  | { readonly kind: "violation"; readonly walletId: string | null }
  | { readonly kind: "alert"; readonly alert: CustodyAlert; readonly walletId: string | null };

/** Must not throw. */
export interface CustodyEvents {
  emit(party: Party, event: CustodyEvent): void;
}
