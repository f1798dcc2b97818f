/**
 * The venues of one private key: an account watch for each, or the reason why there is none.
 *
 * Invariant: opened completely or not at all; after `close` no watch calls this key.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { isRoutableVenue, type RoutableVenue, type Venue } from "../../engine/domain/venue.js";
import type { OrderDesk } from "../../engine/orders/single/order-desk.js";
import type { AccountWatch } from "../../engine/portfolio/account-watch.js";
import type { AccountHandle, Portfolio } from "../../engine/portfolio/portfolio.js";
import type { AccountChange, Coverage, CoverageError } from "../../engine/portfolio/portfolio-types.js";
import { namingAccount } from "../accounts/account-reads.js";
import { scrubLine } from "../../engine/domain/scrub.js";
import type { MemberSources } from "./venue-member.js";

export interface AccountSources extends MemberSources {
  readonly portfolio: Portfolio;
  readonly clock: Clock;
  /** Returns how the caller described an order of the account; null if nothing is known. */
  readonly termsOf: OrderDesk["termsOf"];
}

export interface AccountWish {
  readonly walletAddress: string;
  /** In alphabetical order. */
  readonly venues: readonly Venue[];
  readonly blocks: Readonly<Partial<Record<RoutableVenue, unknown>>>;
  /** Who asks; null without a key. */
  readonly ownerId: string | null;
  /** The key of who opened it first, which pays for as long as it is open; it is no part of what names it. */
  readonly payer: string | null;
}

interface AccountMember {
  readonly venue: Venue;
  readonly handle: AccountHandle | null;
  /** Without a watch: the coverage to show. */
  readonly fixed: Coverage | null;
}

/** How long the first snapshot waits for venues that do not answer; they are then shown as not known. */
const READY_MS = 5_000;
const MAX_MESSAGE_CHARS = 200;

export class AccountMembers {
  readonly all: readonly AccountMember[];
  readonly #untilNs: number;

  /** Throws MISSING_CREDENTIALS for an invalid block, OVERLOADED when too many accounts are watched. */
  constructor(
    sources: AccountSources,
    wish: AccountWish,
    wantsOrders: boolean,
    hear: (watch: AccountWatch, change: AccountChange) => void,
  ) {
    this.#untilNs = sources.clock.monoNs() + READY_MS * 1e6;
    const members: AccountMember[] = [];
    this.all = members;
    try {
      for (const venue of wish.venues) members.push(openMember(sources, wish, venue, wantsOrders, hear));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Reports whether each venue has answered or used up its time. */
  isReady(nowNs: number, isSettled: (watch: AccountWatch) => boolean): boolean {
    if (nowNs >= this.#untilNs) return true;
    return this.all.every(({ handle }) => handle === null || isSettled(handle.watch));
  }

  close(): void {
    for (const { handle } of this.all) handle?.close();
  }
}

function openMember(
  { portfolio }: AccountSources,
  { walletAddress, blocks, ownerId, payer }: AccountWish,
  venue: Venue,
  wantsOrders: boolean,
  hear: (watch: AccountWatch, change: AccountChange) => void,
): AccountMember {
  if (!isRoutableVenue(venue)) return without(venue, "NOT_CONFIGURED");
  const block = blocks[venue];
  // The first look includes what arrives while the watch is being opened.
  let watch: AccountWatch | null = null;
  const opened = portfolio.open(
    venue,
    block === undefined
      ? { kind: "address", walletAddress }
      : { kind: "credentials", block: namingAccount(venue, { walletAddress, block }) },
    wantsOrders,
    (change) => {
      if (watch !== null) hear(watch, change);
    },
    ownerId,
    payer,
  );
  if (opened.ok) {
    watch = opened.handle.watch;
    return { venue, handle: opened.handle, fixed: null };
  }
  switch (opened.code) {
    case "OVERLOADED":
      throw new ServiceError("OVERLOADED", { exchange: venue });
    case "BAD_CREDENTIALS":
      if (block !== undefined)
        throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue, problem: opened.problem });
      // An invalid address at this venue has no public data there.
      return without(venue, "MISSING_CREDENTIALS");
    case "NOT_CONFIGURED":
    case "MISSING_CREDENTIALS":
      return without(venue, opened.code);
  }
}

function without(venue: Venue, code: "NOT_CONFIGURED" | "MISSING_CREDENTIALS"): AccountMember {
  const isMissing = code === "MISSING_CREDENTIALS";
  const message = isMissing
    ? new ServiceError("MISSING_CREDENTIALS", { exchange: venue }).message
    : `${venue} is not configured here`;
  const state = isMissing ? "AUTH_REQUIRED" : "ERROR";
  return {
    venue,
    handle: null,
    fixed: { state, mode: "request", asOf: null, source: null, intervalMs: null, error: { code, message } },
  };
}

/** In the form of the schema. */
export function coverageText({ state, mode, asOf, source, intervalMs, error }: Coverage): string {
  return JSON.stringify({
    state,
    mode,
    asOf,
    source,
    ...(intervalMs === null ? {} : { intervalMs }),
    ...(error === null ? {} : { error: { code: error.code, message: shownMessage(error) } }),
  });
}

/** A change of these goes out at once; new times alone go out at intervals. */
export function coverageMark({ state, mode, source, error }: Coverage): string {
  return `${state} ${mode} ${source} ${error?.code ?? ""}`;
}

/** A venue wrote part of it. */
function shownMessage(error: CoverageError): string {
  return scrubLine(error.message, MAX_MESSAGE_CHARS);
}
