/**
 * The venues of one private key, a place for each (account-place.ts).
 *
 * Invariant: opened completely or not at all; after `close` no watch calls this key.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { isRoutableVenue, type RoutableVenue, type Venue } from "../../engine/domain/venue.js";
import type { OrderDesk } from "../../engine/orders/single/order-desk.js";
import type { AccountWatch } from "../../engine/portfolio/account-watch.js";
import type { ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import type { Portfolio } from "../../engine/portfolio/portfolio.js";
import type { AccountChange, Coverage, CoverageError } from "../../engine/portfolio/portfolio-types.js";
import { scrubLine } from "../../engine/domain/scrub.js";
import { AccountPlace, type PlaceWish } from "./account-place.js";
import type { StoredWallet } from "./stored-blocks.js";
import type { MemberSources } from "./venue-member.js";

export interface AccountSources extends MemberSources {
  readonly portfolio: Portfolio;
  /** Null: there is no client-signed venue. */
  readonly chain: ChainPortfolio | null;
  readonly clock: Clock;
  /** Returns how the caller described an order of the account; null if nothing is known. */
  readonly termsOf: OrderDesk["termsOf"];
}

export interface AccountWish {
  readonly walletAddress: string;
  /** In alphabetical order. */
  readonly venues: readonly Venue[];
  /** Those that the caller gave. */
  readonly blocks: Readonly<Partial<Record<RoutableVenue, unknown>>>;
  /** Stands in with its keys where there is no block; null: none. */
  readonly wallet: StoredWallet | null;
  /** Who asks; null without a key. */
  readonly ownerId: string | null;
  /** The key of who opened it first, which pays for as long as it is open; it is no part of what names it. */
  readonly payer: string | null;
}

/** What a topic makes of its accounts. */
interface AccountTopicParts {
  readonly wantsOrders: boolean;
  readonly hear: (watch: AccountWatch, change: AccountChange) => void;
  readonly isSettled: (watch: AccountWatch) => boolean;
  /** An account is shown by another key of its wallet from here on. */
  readonly onMoved: () => void;
}

/** How long the first snapshot waits for venues that do not answer; they are then shown as not known. */
const READY_MS = 5_000;
const MAX_MESSAGE_CHARS = 200;

export class AccountMembers {
  readonly all: readonly AccountPlace[];
  readonly #isSettled: AccountTopicParts["isSettled"];
  readonly #untilNs: number;
  readonly #endKeys: (() => void) | null = null;

  /** Throws MISSING_CREDENTIALS for an invalid block, OVERLOADED when too many accounts are watched. */
  constructor(sources: AccountSources, wish: AccountWish, topic: AccountTopicParts) {
    const { clock, portfolio, chain } = sources;
    this.#untilNs = clock.monoNs() + READY_MS * 1e6;
    this.#isSettled = topic.isSettled;
    const places: AccountPlace[] = [];
    this.all = places;
    const host = { portfolio, hasChain: chain !== null, monoNs: () => clock.monoNs(), ...topic };
    try {
      for (const venue of wish.venues) places.push(new AccountPlace(placeWish(wish, venue, topic.wantsOrders), host));
    } catch (error) {
      this.close();
      throw error;
    }
    this.#endKeys = wish.wallet?.listen(() => this.follow()) ?? null;
  }

  /** Reports whether each venue, and what else the key shows, has answered or used up its time. */
  isReady(nowNs: number, areOthers: () => boolean = () => true): boolean {
    if (nowNs >= this.#untilNs) return true;
    return areOthers() && this.all.every(({ handle }) => handle === null || this.#isSettled(handle.watch));
  }

  /** Goes over to the keys that the wallet has now; called now and then, too, since time alone may end a wait. */
  follow(): void {
    for (const place of this.all) place.follow();
  }

  close(): void {
    this.#endKeys?.();
    for (const place of this.all) place.close();
  }
}

function placeWish(
  { walletAddress, blocks, wallet, ownerId, payer }: AccountWish,
  venue: Venue,
  wantsOrders: boolean,
): PlaceWish {
  const block = isRoutableVenue(venue) ? (blocks[venue] ?? null) : null;
  const present = block === null && wallet !== null ? () => wallet.blocks()[venue] ?? null : null;
  return { venue, walletAddress, block, present, wantsOrders, ownerId, payer };
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
