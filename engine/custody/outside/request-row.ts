/**
 * The row of a signature that the outside signer is asked for: one for a wallet, an origin and a digest, so that the same
 * bytes asked for again are the same request. A row that is not to the letter is not read.
 *
 * OPEN: the signer may have it, or decide it yet. SIGNED: it did, and asked again it hands over the same signature. ENDED:
 * it refused or failed; the next one is another round.
 */
import { ServiceError } from "../../domain/errors.js";
import { decodeJson, encodeJson } from "../../storage/state-store.js";
import { walletIdBytes } from "../provider/wallet-names.js";
import type { OutsideOrigin } from "./outside-signer.js";

export const OUTSIDE_REQUESTS = "outside-request";

const STATES = ["OPEN", "SIGNED", "ENDED"] as const;
const ORIGINS: readonly OutsideOrigin[] = ["caller", "service", "test"];

export interface OutsideRequestRow {
  readonly round: number;
  readonly state: (typeof STATES)[number];
  /** Of the last change. Unix epoch, integer ms. */
  readonly atMs: number;
}

export interface RequestPlace {
  readonly walletId: string;
  readonly origin: OutsideOrigin;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

export function requestKey({ walletId, origin, digest }: RequestPlace): string {
  return `${walletId}.${origin}.${Buffer.from(digest).toString("hex")}`;
}

/** Null: no key of such a row. */
export function placeOf(key: string): RequestPlace | null {
  const [walletId = "", origin, digest = "", ...rest] = key.split(".");
  const known = ORIGINS.find((one) => one === origin);
  if (walletIdBytes(walletId) === null || known === undefined || rest.length > 0) return null;
  return /^[0-9a-f]{64}$/.test(digest) ? { walletId, origin: known, digest: Buffer.from(digest, "hex") } : null;
}

export function encodeRequestRow(row: OutsideRequestRow): Uint8Array {
  return encodeJson(row);
}

/** Throws INTERNAL. */
export function readRequestRow(key: string, value: Uint8Array): OutsideRequestRow {
  let read: unknown = null;
  try {
    read = decodeJson(value);
  } catch {
    // No JSON: refused below as any other row that is none.
  }
  if (typeof read !== "object" || read === null || placeOf(key) === null) throw unreadable(key);
  const { round, state, atMs, ...rest } = read as Readonly<Record<string, unknown>>;
  const known = STATES.find((one) => one === state);
  if (known === undefined || !isCount(round) || !isCount(atMs) || Object.keys(rest).length > 0) throw unreadable(key);
  return { round, state: known, atMs };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function unreadable(key: string): ServiceError {
  // Without the digest, which a message may be guessed from.
  return new ServiceError("INTERNAL", {
    problem: `custody: row of an outside request of ${key.slice(0, 36)} cannot be read`,
  });
}
