/**
 * The `transfers` topic: the open rows of the ledger and the newest ended ones, then each durable change, one event each
 * and never merged.
 *
 * Invariants: what is shown at a sequence number is the first snapshot with the events up to that number, no more and no
 * less: a change is in a snapshot or comes after it, never both, whatever it met on its way (the first read of the store
 * included). Nothing is shown before that read has ended: unknown is not shown as none.
 *
 * Bounds: ENDED_SHOWN_MAX ended rows, and PENDING_MAX events in one turn of the service; beyond it all subscribers start
 * again. WALLETS_A_TURN wallets are looked up in one turn. A read that fails is tried again after RETRY_MS.
 */
import { type Clock, delay } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { ListedTransfer, TransferBook } from "../../engine/transfers/transfer-book.js";
import { isEnded, isOpen, type TransferRow } from "../../engine/transfers/transfer-row.js";
import { ENDED_SHOWN_MAX, type TransferEvent } from "../../schemas/stream-transfers.js";
import { type ExplorerUrls, transferView } from "../accounts/transfer-views.js";
import type { Feed, FeedEvents, Image, MarkDirty } from "./feed.js";
import { RING_EVENTS_MAX } from "./frame-ring.js";

/** What the topic reads of the ledger. A listener that throws changes nothing there. */
export type TransferLedger = Pick<TransferBook, "listen" | "open" | "newest" | "find">;

export interface TransferSources {
  readonly ledger: TransferLedger;
  readonly explorers: ExplorerUrls;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The wallets of a key. */
export interface TransferScope {
  has(walletId: string): boolean;
  walletIds(): Iterable<string>;
}

/** As many as the ring keeps. */
const PENDING_MAX = RING_EVENTS_MAX;
const WALLETS_A_TURN = 64;
const RETRY_MS = 1_000;
/** Beyond it the oldest of what was found so far go. */
const FOUND_MAX = 4_096;

interface Shown {
  readonly row: TransferRow;
  /** As GET /api/transfers/{transferId} answers it. */
  readonly text: string;
}

interface Pending extends Shown {
  readonly event: TransferEvent;
}

export class TransfersFeed implements Feed, FeedEvents, Image {
  readonly events: FeedEvents = this;
  /** No credentials are in it, and a change reaches it from this process: it misses nothing while nobody listens. */
  readonly outlivesSubscribers = true;
  readonly #sources: TransferSources;
  readonly #scope: TransferScope;
  readonly #markDirty: MarkDirty;
  readonly #unlisten: () => void;
  /** As at the present sequence number. */
  #rows = new Map<string, Shown>();
  #pending: Pending[] = [];
  #taken = 0;
  #isLoaded = false;
  /** Since then changes are events. */
  #isShown = false;
  #isLost = false;
  #isClosed = false;
  /** Null while a read is under way. */
  #retryNs: number | null = null;

  constructor(sources: TransferSources, scope: TransferScope, mark: MarkDirty) {
    this.#sources = sources;
    this.#scope = scope;
    this.#markDirty = mark;
    this.#unlisten = sources.ledger.listen((row, before) => this.#hear(row, before));
    void this.#load();
  }

  isReady(nowNs: number): boolean {
    if (this.#retryNs !== null && nowNs >= this.#retryNs) void this.#load();
    return this.#isLoaded;
  }

  /** The feed itself is the image: the rows at the present number. */
  look(): Image {
    this.#isShown = true;
    return this;
  }

  snapshotText(): string {
    const newestFirst = [...this.#rows.values()].sort((one, other) => isNewer(one.row, other.row));
    return `{"transfers":[${newestFirst.map(({ text }) => text).join(",")}]}`;
  }

  updateText(): string {
    // Events are sent one by one (FeedEvents); the difference of two images of an unmerged key is never needed.
    throw new TypeError("transfers are not merged");
  }

  drifted(): boolean {
    return this.#taken < this.#pending.length || this.#isLost;
  }

  next(): string | null {
    const pending = this.#pending[this.#taken];
    if (pending === undefined) return null;
    this.#taken++;
    if (this.#taken === this.#pending.length) this.#forgetPending();
    this.#show(pending);
    return `{"event":"${pending.event}","transfer":${pending.text}}`;
  }

  takeLoss(): boolean {
    if (!this.#isLost) return false;
    this.#isLost = false;
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    this.#forgetPending();
    this.#rows.clear();
  }

  #hear(row: TransferRow, before: TransferRow | null): void {
    if (!this.#scope.has(row.walletId)) return;
    const shown = this.#shownOf(row);
    // Before the first snapshot, and where one is owed, the state alone counts.
    if (!this.#isShown || this.#isLost) {
      this.#show(shown);
      return;
    }
    if (this.#pending.length - this.#taken >= PENDING_MAX) {
      for (const missed of this.#pending.slice(this.#taken)) this.#show(missed);
      this.#show(shown);
      this.#forgetPending();
      this.#isLost = true;
    } else this.#pending.push({ ...shown, event: eventOf(row, before) });
    this.#markDirty(true);
  }

  #forgetPending(): void {
    this.#pending = [];
    this.#taken = 0;
  }

  #shownOf(row: TransferRow): Shown {
    return { row, text: JSON.stringify(transferView(row, this.#sources.explorers)) };
  }

  #show({ row, text }: Shown): void {
    this.#rows.set(row.transferId, { row, text });
    if (!isOpen(row) && this.#isLoaded) this.#trim();
  }

  /** The oldest of the ended rows go. */
  #trim(): void {
    const ended = [...this.#rows.values()].filter(({ row }) => !isOpen(row));
    if (ended.length <= ENDED_SHOWN_MAX) return;
    ended.sort((one, other) => isNewer(one.row, other.row));
    for (const { row } of ended.slice(ENDED_SHOWN_MAX)) this.#rows.delete(row.transferId);
  }

  // ---------------------------------------------------------------- the first read

  async #load(): Promise<void> {
    this.#retryNs = null;
    const { clock, ledger, logger } = this.#sources;
    try {
      const ended = await this.#newestEnded();
      if (this.#isClosed) return;
      // In one turn: what the ledger has in memory is what its listeners have heard of.
      for (const row of ended) if (!this.#rows.has(row.transferId)) this.#show(this.#shownOf(row));
      for (const row of ledger.open()) if (this.#scope.has(row.walletId)) this.#show(this.#shownOf(row));
      this.#isLoaded = true;
      this.#trim();
      this.#markDirty(true);
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      logger.warn("stream.transfers_unread", { code });
      this.#retryNs = clock.monoNs() + RETRY_MS * 1e6;
    }
  }

  /** Rows that are open are left to the ledger's memory: one that is not there yet is heard in a moment. */
  async #newestEnded(): Promise<readonly TransferRow[]> {
    const { clock, ledger } = this.#sources;
    const openCount = [...ledger.open()].filter(({ walletId }) => this.#scope.has(walletId)).length;
    const wantedMax = ENDED_SHOWN_MAX + openCount;
    let found: ListedTransfer[] = [];
    let looked = 0;
    for (const walletId of this.#scope.walletIds()) {
      if (this.#isClosed) return [];
      found.push(...(await ledger.newest(walletId, wantedMax)));
      if (found.length > Math.max(FOUND_MAX, 2 * wantedMax)) found = newestOf(found, wantedMax);
      if (++looked % WALLETS_A_TURN === 0) await delay(clock, 0);
    }
    const ended: TransferRow[] = [];
    for (const { transferId } of newestOf(found, wantedMax)) {
      const row = await ledger.find(transferId);
      if (row !== null && !isOpen(row)) ended.push(row);
      if (ended.length === ENDED_SHOWN_MAX) break;
    }
    return ended;
  }
}

function eventOf(row: TransferRow, before: TransferRow | null): TransferEvent {
  if (before === null) return "transfer.created";
  return isEnded(row) && !isEnded(before) ? "transfer.ended" : "transfer.changed";
}

function newestOf(found: readonly ListedTransfer[], countMax: number): ListedTransfer[] {
  return [...found].sort(isNewer).slice(0, countMax);
}

/** As lists of the routes are ordered. */
function isNewer(one: ListedTransfer, other: ListedTransfer): number {
  return other.createdAtMs - one.createdAtMs || (one.transferId < other.transferId ? -1 : 1);
}
