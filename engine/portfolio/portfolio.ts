/**
 * All watched accounts: one watch per venue, owner and credentials, shared by all callers of the owner with identical
 * ones. It opens with the first and ends, with its session, with the last. That of a public address is everybody's.
 *
 * Invariants: callers with other credentials share nothing, even for the same account (otherwise a wrong secret with a
 * right key name would see what the right one opened), and neither do callers of other owners, whose executions are
 * their own. Credentials are kept as a keyed hash only; the keys are in the
 * session alone. Bound: ACCOUNTS_MAX watches, half of them for one API key; one more is refused.
 *
 * The venue's lanes are paid by the API key that opened the watch, for as long as it lasts: who joins later pays nothing,
 * and who opens many pays for them all.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import { Owners } from "../domain/owner.js";
import { SharedRoom } from "../domain/shared-room.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../domain/venue.js";
import { accountHashOf } from "../orders/accounts.js";
import type { VenueRoom } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import { AccountWatch, type VenueSchedules } from "./account-watch.js";
import { type PollPace, PollSchedule } from "./poll-schedule.js";
import type { AccountListener } from "./portfolio-types.js";
import { NO_RESOLVED_EXECUTIONS, type ResolvedExecutions } from "./resolved-executions.js";

export interface VenuePace {
  readonly positions: PollPace;
  readonly orders: PollPace;
}

/** Of a venue whose pace is not given. */
const DEFAULT_PACE: VenuePace = {
  positions: { looksPerMinute: 40, intervalMsMin: 5_000 },
  orders: { looksPerMinute: 4, intervalMsMin: 15_000 },
};
const ACCOUNTS_MAX = 1_000;

export interface PortfolioOptions {
  readonly rooms: ReadonlyMap<RoutableVenue, VenueRoom>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hash: KeyedHash;
  /** Who reaches whose executions; nobody adopted those of public mode where absent. */
  readonly owners?: Owners;
  readonly resolved?: ResolvedExecutions;
  readonly paces?: Partial<Record<RoutableVenue, VenuePace>>;
  readonly accountsMax?: number;
}

export type AccountAccess =
  /** A raw block of interface spec 2.3. */
  | { readonly kind: "credentials"; readonly block: unknown }
  /** The public data of an address. */
  | { readonly kind: "address"; readonly walletAddress: string };

export interface AccountHandle {
  readonly watch: AccountWatch;
  /** Idempotent. The last call ends the watch. */
  close(): void;
}

export type OpenedAccount =
  | { readonly ok: true; readonly handle: AccountHandle }
  | { readonly ok: false; readonly code: "NOT_CONFIGURED" | "MISSING_CREDENTIALS" | "OVERLOADED" }
  /** `problem` names a field, never its value. */
  | { readonly ok: false; readonly code: "BAD_CREDENTIALS"; readonly problem: string };

export class Portfolio {
  readonly #options: PortfolioOptions;
  readonly #owners: Owners;
  readonly #places: SharedRoom;
  readonly #watches = new Map<string, AccountWatch>();
  /** The key that opened each; null without one. */
  readonly #payers = new WeakMap<AccountWatch, string | null>();
  readonly #schedules: ReadonlyMap<RoutableVenue, VenueSchedules>;
  readonly #endResolved: () => void;
  #isStopped = false;

  constructor(options: PortfolioOptions) {
    const { clock, paces, resolved = NO_RESOLVED_EXECUTIONS } = options;
    this.#options = options;
    this.#owners = options.owners ?? new Owners();
    this.#places = new SharedRoom(options.accountsMax ?? ACCOUNTS_MAX);
    this.#schedules = new Map(
      ROUTABLE_VENUES.map((venue) => {
        const { positions, orders } = paces?.[venue] ?? DEFAULT_PACE;
        return [venue, { positions: new PollSchedule(clock, positions), orders: new PollSchedule(clock, orders) }];
      }),
    );
    this.#endResolved = resolved.listen((execution) => {
      for (const watch of this.#watches.values()) {
        if (watch.owns(execution.accounts)) watch.emit({ kind: "resolved", execution });
      }
    });
  }

  /** Number of watched accounts, and of those that are polled. */
  counts(): { readonly accounts: number; readonly polled: number } {
    let polled = 0;
    for (const schedule of this.#schedules.values()) polled += schedule.positions.size;
    return { accounts: this.#watches.size, polled };
  }

  /** `payer`: the API key that asks; null without one. */
  open(
    venue: RoutableVenue,
    access: AccountAccess,
    wantsOrders: boolean,
    listener: AccountListener,
    ownerId: string | null,
    payer: string | null,
  ): OpenedAccount {
    const room = this.#options.rooms.get(venue);
    if (room === undefined) return { ok: false, code: "NOT_CONFIGURED" };
    const tag = this.#tagOf(venue, access, ownerId);
    const known = this.#watches.get(tag);
    if (known !== undefined) {
      if (!known.listen(listener, wantsOrders)) return { ok: false, code: "OVERLOADED" };
      return { ok: true, handle: this.#handle(tag, known, listener) };
    }
    if (this.#isStopped || !this.#places.hasRoom(payer)) return { ok: false, code: "OVERLOADED" };
    if (access.kind === "address" && room.openAddress === undefined) return { ok: false, code: "MISSING_CREDENTIALS" };
    const opened =
      access.kind === "credentials"
        ? room.openSession(access.block, payer)
        : room.openAddress?.(access.walletAddress, payer);
    if (opened === undefined) return { ok: false, code: "MISSING_CREDENTIALS" };
    if (!opened.ok) return { ok: false, code: "BAD_CREDENTIALS", problem: opened.problem };
    const { clock, logger, hash } = this.#options;
    const { accountId } = opened.session;
    const schedules = this.#schedules.get(venue) as VenueSchedules;
    const watch = new AccountWatch(room, opened.session, {
      clock,
      logger,
      schedules,
      isCredentialed: access.kind === "credentials",
      accountHashes: () => this.#owners.reachedBy(ownerId).map((owner) => accountHashOf(hash, venue, accountId, owner)),
    });
    this.#watches.set(tag, watch);
    this.#payers.set(watch, payer);
    this.#places.force(payer);
    watch.listen(listener, wantsOrders);
    watch.start();
    return { ok: true, handle: this.#handle(tag, watch, listener) };
  }

  stop(): void {
    this.#isStopped = true;
    this.#endResolved();
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
    for (const { positions, orders } of this.#schedules.values()) {
      positions.stop();
      orders.stop();
    }
  }

  #handle(tag: string, watch: AccountWatch, listener: AccountListener): AccountHandle {
    let isOpen = true;
    return {
      watch,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        if (!watch.unlisten(listener)) return;
        watch.close();
        if (this.#watches.get(tag) === watch) {
          this.#watches.delete(tag);
          this.#places.leave(this.#payers.get(watch) ?? null);
        }
        this.#promote(watch.venue);
      },
    };
  }

  /** A stream may have become free: the account that has waited longest gets it. */
  #promote(venue: RoutableVenue): void {
    for (const watch of this.#watches.values()) {
      if (watch.venue !== venue || watch.hasStream) continue;
      watch.promote();
      return;
    }
  }

  #tagOf(venue: RoutableVenue, access: AccountAccess, ownerId: string | null): string {
    const isPublic = access.kind === "address";
    const what = isPublic ? access.walletAddress.toLowerCase() : canonicalJson(access.block);
    const owner = isPublic || ownerId === null ? [] : [ownerId];
    return this.#options.hash.hmacHex("portfolio.account", [venue, access.kind, what, ...owner]);
  }
}

/** Returns the same text for the same block, whatever the order of its fields. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) => {
      if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return inner;
      return Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)));
    }) ?? ""
  );
}
