/**
 * One venue's place in a private key: an account watch, or the reason why there is none. That of a server wallet follows
 * the keys of the wallet: what is shown stays until the account has answered to the next key.
 *
 * Invariant: no change is heard but of the watch that is shown. Bounds: NEXT_MS for the next key to answer; then it is
 * shown as it is. One that cannot be opened is tried again after as long.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { isRoutableVenue, type Venue } from "../../engine/domain/venue.js";
import type { AccountWatch } from "../../engine/portfolio/account-watch.js";
import { type AccountHandle, canonicalJson, type Portfolio } from "../../engine/portfolio/portfolio.js";
import type { AccountChange, Coverage } from "../../engine/portfolio/portfolio-types.js";
import { namingAccount } from "../accounts/account-reads.js";
import { notApplicableHere } from "./chain-member.js";

/** With what a place is opened. */
export interface PlaceWish {
  readonly venue: Venue;
  readonly walletAddress: string;
  /** Raw block of interface spec 2.3 that the caller gave; null: none. */
  readonly block: unknown;
  /** The block of a server wallet's present key, in the place of the caller's; null: there is no wallet to follow. */
  readonly present: (() => unknown) | null;
  readonly wantsOrders: boolean;
  readonly ownerId: string | null;
  readonly payer: string | null;
}

export interface PlaceHost {
  readonly portfolio: Portfolio;
  /** There is a client-signed venue: what is seen of it is no account of the portfolio. */
  readonly hasChain: boolean;
  readonly monoNs: () => number;
  readonly hear: (watch: AccountWatch, change: AccountChange) => void;
  /** Whether what a watch shows is the account's, or it is known why it cannot be. */
  readonly isSettled: (watch: AccountWatch) => boolean;
  /** The account is shown by another key from here on, or without one. */
  readonly onMoved: () => void;
}

interface Opened {
  readonly block: unknown;
  /** Of a server wallet's: equal for blocks of one key. */
  readonly name: string;
  readonly handle: AccountHandle | null;
  /** Without a watch: the coverage to show. */
  readonly fixed: Coverage | null;
}

/** How long the next key may take to answer. */
const NEXT_MS = 5_000;

export class AccountPlace {
  readonly #wish: PlaceWish;
  readonly #host: PlaceHost;
  #shown: Opened;
  #next: Opened | null = null;
  #nextUntilNs = 0;
  #unopened: { readonly name: string; readonly untilNs: number } | null = null;

  /** Throws MISSING_CREDENTIALS for an invalid block, OVERLOADED when too many accounts are watched. */
  constructor(wish: PlaceWish, host: PlaceHost) {
    this.#wish = wish;
    this.#host = host;
    this.#shown = this.#open(wish.present === null ? wish.block : wish.present());
  }

  get venue(): Venue {
    return this.#wish.venue;
  }

  get block(): unknown {
    return this.#shown.block;
  }

  get handle(): AccountHandle | null {
    return this.#shown.handle;
  }

  get fixed(): Coverage | null {
    return this.#shown.fixed;
  }

  /** Goes over to the wallet's present key where that is another, and to the watch of it once it has answered. */
  follow(): void {
    const { present } = this.#wish;
    if (present === null) return;
    const block = present();
    const name = canonicalJson(block);
    if (name !== (this.#next ?? this.#shown).name) {
      this.#dropNext();
      const isUnopened = name === this.#unopened?.name && this.#host.monoNs() < this.#unopened.untilNs;
      if (name !== this.#shown.name && !isUnopened) this.#openNext(block);
    }
    this.#settle();
  }

  close(): void {
    this.#dropNext();
    this.#shown.handle?.close();
  }

  #openNext(block: unknown): void {
    try {
      this.#next = this.#open(block);
      this.#nextUntilNs = this.#host.monoNs() + NEXT_MS * 1e6;
    } catch (error) {
      // No room for a second watch now, or the key has ended meanwhile: a later look tries again.
      if (!(error instanceof ServiceError)) throw error;
      if (error.code !== "OVERLOADED")
        this.#unopened = { name: canonicalJson(block), untilNs: this.#host.monoNs() + NEXT_MS * 1e6 };
      else if (this.#leaveRefused()) this.#openNext(block);
    }
  }

  /** Makes room: a watch whose key the venue refuses learns nothing more. False: there is none to give up. */
  #leaveRefused(): boolean {
    const { handle } = this.#shown;
    const coverage = handle?.watch.coverage();
    if (handle === null || coverage?.state !== "AUTH_REQUIRED") return false;
    this.#shown = { ...this.#shown, handle: null, fixed: { ...coverage, asOf: null, source: null } };
    handle.close();
    return true;
  }

  #settle(): void {
    const next = this.#next;
    if (next === null) return;
    const isWaiting =
      next.handle !== null && !this.#host.isSettled(next.handle.watch) && this.#host.monoNs() < this.#nextUntilNs;
    if (isWaiting && this.#shown.handle !== null) return;
    const { handle } = this.#shown;
    this.#shown = next;
    this.#next = null;
    handle?.close();
    this.#host.onMoved();
  }

  #dropNext(): void {
    this.#next?.handle?.close();
    this.#next = null;
  }

  #open(block: unknown): Opened {
    const { venue, walletAddress, present, wantsOrders, ownerId, payer } = this.#wish;
    // A caller's own is not written out once more: it has its secret in it.
    const name = present === null ? "" : canonicalJson(block);
    const without = (fixed: Coverage): Opened => ({ block, name, handle: null, fixed });
    if (!isRoutableVenue(venue))
      return without(this.#host.hasChain ? ORDERS_ELSEWHERE : notOpened(venue, "NOT_CONFIGURED"));
    // The first look includes what arrives while the watch is being opened.
    let watch: AccountWatch | null = null;
    const opened = this.#host.portfolio.open(
      venue,
      block === null
        ? { kind: "address", walletAddress }
        : { kind: "credentials", block: namingAccount(venue, { walletAddress, block }) },
      wantsOrders,
      (change) => {
        if (watch !== null) this.#hear(watch, change);
      },
      ownerId,
      payer,
    );
    if (opened.ok) {
      watch = opened.handle.watch;
      return { block, name, handle: opened.handle, fixed: null };
    }
    switch (opened.code) {
      case "OVERLOADED":
        throw new ServiceError("OVERLOADED", { exchange: venue });
      case "BAD_CREDENTIALS":
        if (block !== null) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue, problem: opened.problem });
        // An invalid address at this venue has no public data there.
        return without(notOpened(venue, "MISSING_CREDENTIALS"));
      case "NOT_CONFIGURED":
      case "MISSING_CREDENTIALS":
        return without(notOpened(venue, opened.code));
    }
  }

  #hear(watch: AccountWatch, change: AccountChange): void {
    if (watch === this.#shown.handle?.watch) this.#host.hear(watch, change);
    else this.#settle();
  }
}

const ORDERS_ELSEWHERE = notApplicableHere("its orders are not streamed: GET /api/trading/venuefive/orders");

function notOpened(venue: Venue, code: "NOT_CONFIGURED" | "MISSING_CREDENTIALS"): Coverage {
  const isMissing = code === "MISSING_CREDENTIALS";
  const message = isMissing
    ? new ServiceError("MISSING_CREDENTIALS", { exchange: venue }).message
    : `${venue} is not configured here`;
  const state = isMissing ? "AUTH_REQUIRED" : "ERROR";
  return { state, mode: "request", asOf: null, source: null, intervalMs: null, error: { code, message } };
}
