/** What the runners of deposits, withdrawals and transfers take from outside, and what they have in common. */
import type { Chain } from "../chain.js";
import type { SigningRequest, WalletProvider } from "../custody/provider/wallet-provider.js";
import { type Clock, delay } from "../domain/clock.js";
import { type Deadline, within } from "../domain/deadline.js";
import { ServiceError } from "../domain/errors.js";
import type { Logger } from "../domain/logger.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountSession, CallOptions, Read } from "../ports.js";
import type { Instance } from "../storage/instance/instance.js";
import type { VenueMoney, WithdrawalAsk } from "../venue-money.js";
import type { AskBlocks } from "./ask-blocks.js";
import type { TransferBook } from "./transfer-book.js";
import type { TransferRow, WithdrawalRow } from "./transfer-row.js";

export interface TransferParts {
  readonly book: TransferBook;
  readonly signer: Pick<WalletProvider, "sign">;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, Chain>;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
  /** Whether the store was put back, and how far its count has got outside; null: of a store that nobody backs up. */
  readonly instance: Pick<Instance, "assertNotRestored" | "outside" | "vouched" | "witnessed"> | null;
  /** What a restored store must not do again. */
  readonly blocks: AskBlocks;
  /**
   * With the wallet's key at the venue; null: it has none that trades. The caller closes it. `payer`: whose share of the
   * venue's lanes its calls take; null: the account's own.
   */
  readonly openSession: (
    walletId: string,
    venue: RoutableVenue,
    payer: string | null,
  ) => Promise<AccountSession | null>;
  readonly clock: Clock;
  /** A UUID that cannot be guessed. */
  readonly newId: () => string;
  readonly logger: Logger;
}

/** Of one call of a chain or a venue. */
const CALL_MS = 3_000;
/** A port that keeps its time-out answers before this. */
const CALL_GRACE_MS = 1_000;
/** Two parties sign within twelve seconds; an outside signer says by then that it is not done. */
const SIGN_MS = 20_000;
const SESSION_MS = 3_000;

/** A request that a caller waits for, or what goes on by itself. */
export type Mode = "asked" | "kept";

export const NOBODY_WAITS: CallOptions = { timeoutMs: CALL_MS, lane: "background" };

/** Who asks pays with the owner's share of the lanes: reads of public data too, which no account would pay for. */
export function callOptions(mode: Mode, { ownerId }: Pick<TransferRow, "ownerId">): CallOptions {
  return mode === "kept" ? NOBODY_WAITS : { timeoutMs: CALL_MS, lane: "trade", payer: ownerId };
}

type Bound = Pick<TransferParts, "clock" | "logger">;

/** `otherwise`: for a port that throws or does not keep its time-out, which is a bug and must not hold a lane. */
export async function answerOf<T>({ clock, logger }: Bound, call: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    const answer = await within(clock, call(), CALL_MS + CALL_GRACE_MS);
    return answer.done ? answer.value : otherwise;
  } catch (error) {
    logger.error("transfers.port_threw", { errorName: error instanceof Error ? error.name : "unknown" });
    return otherwise;
  }
}

/** Null: the read failed. */
export async function readValue<T>(parts: Bound, call: () => Promise<Read<T>>): Promise<{ readonly value: T } | null> {
  const read = await answerOf<Read<T> | null>(parts, call, null);
  return read?.ok === true ? { value: read.value } : null;
}

/** Rejects as the provider does; SIGNER_UNAVAILABLE with `isUnsettled` where it does not answer. */
export async function signatureOf(
  { signer, clock }: Pick<TransferParts, "signer" | "clock">,
  walletId: string,
  request: SigningRequest,
): Promise<{ readonly signature: string; readonly digest: string }> {
  const answer = await within(clock, signer.sign(walletId, "service", request), SIGN_MS);
  if (!answer.done) throw new ServiceError("SIGNER_UNAVAILABLE", { reason: "TIMEOUT", isUnsettled: true });
  return answer.value;
}

/**
 * Before what is signed leaves: a copy of the store from before it was is then seen as one. `isFirst`: also by the
 * co-signer, which has just signed it. Rejects with STORE_UNAVAILABLE, SIGNER_UNAVAILABLE and RESTORED_STORE.
 */
export async function mayLeave({ instance }: Pick<TransferParts, "instance">, isFirst: boolean): Promise<void> {
  if (instance === null) return;
  await instance.outside();
  if (isFirst) await instance.witnessed();
}

/** The same request, asked for again, may be signed: people decide, or the signer did not say. */
export function isUnsettledSigning(error: unknown): boolean {
  return error instanceof ServiceError && (error.status === 202 || error.context["isUnsettled"] === true);
}

/** Later it may sign; everything else is its last word. */
export function isSignerAway(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 503;
}

/** `use` gets null where the wallet has no key. Null: that is not known now. */
export async function withSession<T>(
  parts: Bound & Pick<TransferParts, "openSession">,
  { walletId, venue }: Pick<TransferRow, "walletId" | "venue">,
  { payer = null }: CallOptions,
  use: (session: AccountSession | null) => Promise<T>,
): Promise<T | null> {
  let opened: Awaited<ReturnType<typeof within<AccountSession | null>>>;
  const opening = parts.openSession(walletId, venue, payer);
  try {
    opened = await within(parts.clock, opening, SESSION_MS);
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : "INTERNAL";
    parts.logger.warn("transfers.no_session", { venue, code });
    return null;
  }
  if (!opened.done) {
    opening.then((session) => session?.close()).catch(() => {});
    return null;
  }
  try {
    return await use(opened.value);
  } finally {
    opened.value?.close();
  }
}

/** False, at once: the time is over before. */
export async function waitWithin(
  { clock }: Pick<TransferParts, "clock">,
  time: Deadline,
  ms: number,
): Promise<boolean> {
  if (time.leftMs() <= ms) return false;
  await delay(clock, ms);
  return true;
}

/** Rows of one lane change one after another. */
export function laneOf(
  row: Pick<TransferRow, "account" | "venue"> & { readonly chainId?: number; readonly kind: string },
): string {
  return row.kind === "deposit" ? depositLane(row.chainId, row.account) : `venue/${row.venue}/${row.account}`;
}

/** Of all venues together: they share the nonces of the account. */
export function depositLane(chainId: number | undefined, account: string): string {
  return `chain/${chainId}/${account}`;
}

/** What its venue is asked for. */
export function askOf({ account, receiver, token, chainId, amount, accountType }: WithdrawalRow): WithdrawalAsk {
  return { account, receiver, token: { ...token, chainId }, amount: BigInt(amount), accountType };
}
