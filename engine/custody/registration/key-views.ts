/** What is shown of keys, and which one trades. */
import type { RoutableVenue } from "../../domain/venue.js";
import type { KeyState, StoredKey } from "./key-row.js";

/** `APPROVING`: whether the venue has it is not known yet. `EXPIRED`: its end has passed; the venue is asked to drop it. */
export type KeyStatus = "APPROVING" | "ACTIVE" | "RETIRING" | "REVOKING" | "EXPIRED";

export interface KeyView {
  readonly venue: RoutableVenue;
  readonly status: KeyStatus;
  /** Address of the key, lower case. */
  readonly signer: string;
  /** Its name at the venue. */
  readonly name: string;
  /** Unix epoch, integer ms. */
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** A reply told the caller of it. */
  readonly isAnswered: boolean;
  /** Ids of the request that asked for it first, and of the one that was told of it. */
  readonly requestIds: readonly string[];
}

const STATUS: Readonly<Record<KeyState, KeyStatus>> = {
  NEW: "APPROVING",
  SENT: "APPROVING",
  ACTIVE: "ACTIVE",
  RETIRING: "RETIRING",
  REVOKING: "REVOKING",
};

export function viewOf(venue: RoutableVenue, key: StoredKey, nowMs: number): KeyView {
  const { state, signer, name, createdAtMs, expiresAtMs, isAnswered, requestId, answeredId } = key;
  const isOver = (state === "ACTIVE" || state === "RETIRING") && isExpired(key, nowMs);
  return {
    venue,
    status: isOver ? "EXPIRED" : STATUS[state],
    signer,
    name,
    createdAtMs,
    expiresAtMs,
    isAnswered,
    requestIds: answeredId === undefined || answeredId === requestId ? [requestId] : [requestId, answeredId],
  };
}

export function isExpired({ expiresAtMs }: StoredKey, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** The key that requests trade with. */
export function tradingKey(keys: readonly StoredKey[], nowMs: number): StoredKey | undefined {
  return keys.find((key) => key.state === "ACTIVE" && !isExpired(key, nowMs));
}
