/**
 * The row of a wallet of the outside signer, from before it is asked for. A row that is not to the letter is not read.
 *
 * ASKED: its request may be at the signer. MADE: its key is known and checked, and has given no test signature. ACTIVE:
 * acknowledged. ENDED: the signer refused or failed, and there is no wallet; the round of the next request is kept.
 */
import { ServiceError } from "../../domain/errors.js";
import { decodeJson, encodeJson } from "../../storage/state-store.js";
import { walletIdBytes } from "../provider/wallet-names.js";
import type { CheckedWallet } from "./signature-check.js";

export const OUTSIDE_WALLETS = "outside-wallet";

const STATES = ["ASKED", "MADE", "ACTIVE", "ENDED"] as const;

export interface OutsideWalletRow {
  /** UUID, lower case: ours. */
  readonly walletId: string;
  /** Null: made without an API key. */
  readonly ownerId: string | null;
  readonly userId: string;
  readonly round: number;
  readonly state: (typeof STATES)[number];
  /** Null until the signer has made it. */
  readonly made: CheckedWallet | null;
  /** Unix epoch, integer ms. */
  readonly createdAt: number;
}

export function encodeWalletRow(row: OutsideWalletRow): Uint8Array {
  return encodeJson(row);
}

/** Throws INTERNAL. */
export function readWalletRow(key: string, value: Uint8Array): OutsideWalletRow {
  const read = jsonOf(value);
  if (typeof read !== "object" || read === null) throw unreadable(key);
  const { walletId, ownerId, userId, round, state, made, createdAt, ...rest } = read as Readonly<
    Record<string, unknown>
  >;
  const known = STATES.find((one) => one === state);
  if (walletId !== key || walletIdBytes(key) === null || known === undefined || Object.keys(rest).length > 0)
    throw unreadable(key);
  if (ownerId !== null && (typeof ownerId !== "string" || ownerId === "")) throw unreadable(key);
  if (typeof userId !== "string" || userId === "" || !isCount(round) || !isCount(createdAt)) throw unreadable(key);
  const wallet = madeOf(made);
  const hasKey = known === "MADE" || known === "ACTIVE";
  if (wallet === undefined || hasKey !== (wallet !== null)) throw unreadable(key);
  return { walletId: key, ownerId, userId, round, state: known, made: wallet, createdAt };
}

/** Undefined: cannot be read. */
function madeOf(value: unknown): CheckedWallet | null | undefined {
  if (value === null) return null;
  if (typeof value !== "object") return undefined;
  const { walletRef, publicKey, address, ...rest } = value as Readonly<Record<string, unknown>>;
  if (typeof walletRef !== "string" || walletRef === "" || Object.keys(rest).length > 0) return undefined;
  if (typeof publicKey !== "string" || !/^0x0[23][0-9a-f]{64}$/.test(publicKey)) return undefined;
  if (typeof address !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(address)) return undefined;
  return { walletRef, publicKey, address };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function jsonOf(value: Uint8Array): unknown {
  try {
    return decodeJson(value);
  } catch {
    return null;
  }
}

function unreadable(key: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody: row ${key} of an outside wallet cannot be read` });
}
