/**
 * venuethree's part of a watched account: three channels behind a token, which carry changed orders, trades and whole
 * pictures of positions. Nothing numbers or times the pictures (account/state.ts), so they are numbered here as they come.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, CallOptions } from "../../../engine/ports.js";
import {
  type AccountChannel,
  type AccountHost,
  type AccountSource,
  type Adopt,
  type Adopted,
  type Applied,
  refusedLoad,
} from "../../shared/account/account-source.js";
import type { LoadRefused } from "../../shared/book/resync.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import { MAX_PAGE_ROWS } from "../rules/limits.js";
import { AccountAccess } from "./access.js";
import type { AuthTokens } from "./auth-tokens.js";
import { ACCOUNT_CHANNELS, accountChannel, type AccountFrame } from "./frames.js";
import type { ConfirmedKey } from "./key-directory.js";
import { statusOfWord } from "./normalize.js";
import { OwnOrders } from "./own-orders.js";
import type { VenuethreeAccountRest } from "./rest.js";
import { AccountState, type Applied as AppliedToState } from "./state.js";
import type { VenuethreeWireAccountTrade, VenuethreeWireOrder, VenuethreeWirePosition } from "./wire.js";

/** What the three channels say. */
export type VenuethreeAccountNews = Extract<AccountFrame, { readonly kind: "orders" | "trades" | "positions" }>;

export interface VenuethreeSourceDeps {
  readonly clock: Clock;
  readonly rest: VenuethreeAccountRest;
  readonly tokens: AuthTokens;
  readonly instrumentOf: (marketId: number) => Instrument | null;
  readonly clockOffsetMs: () => number;
  readonly words: UnknownWords;
}

/** A whole picture of positions, streamed or read. */
interface Picture {
  /** Its place among the pictures. */
  readonly number: number;
  readonly positions: readonly VenuethreeWirePosition[];
  readonly asOfMs: number;
}

interface Truth {
  readonly picture: Picture;
  /** Orders known to be open when the list was asked for: of those that opened since, a list says nothing. */
  readonly openBefore: ReadonlySet<string>;
  readonly orders: readonly VenuethreeWireOrder[];
  readonly ended: readonly VenuethreeWireOrder[];
  readonly trades: readonly VenuethreeWireAccountTrade[];
}

/** The orders that are open when a cancel of all goes out, and what the stream reports of them afterwards. */
export interface TrackedOrders {
  /** How many of them were canceled, once all have ended; null before. */
  canceledCount(): number | null;
  readonly size: number;
}

export class VenuethreeAccountSource implements AccountSource<ConfirmedKey, VenuethreeAccountNews> {
  readonly channels: readonly AccountChannel[];
  readonly access: AccountAccess;
  readonly needsRead = false;
  readonly #accountIndex: number;
  readonly #host: AccountHost;
  readonly #deps: VenuethreeSourceDeps;
  readonly #data: AccountState;
  readonly #orders = new OwnOrders();
  /** A frame is numbered as it comes, a read as it begins, as its answer may be older than frames. */
  #pictureCount = 0;
  /** The newest one held. */
  #heldPicture = 0;

  constructor(host: AccountHost, deps: VenuethreeSourceDeps) {
    const accountIndex = Number(host.key);
    this.#accountIndex = accountIndex;
    // Silence says nothing: an account may be idle for days. The connection's own pings show whether it lives.
    this.channels = ACCOUNT_CHANNELS.map((channel) => ({ name: accountChannel(channel, accountIndex), livenessMs: 0 }));
    this.#host = host;
    this.#deps = deps;
    this.access = new AccountAccess(deps.clock, deps.tokens);
    const { instrumentOf } = deps;
    this.#data = new AccountState({ accountIndex, instrumentOf, emit: (event) => host.emit(event) });
  }

  get hasPicture(): boolean {
    return this.#data.hasPicture;
  }

  positions(): readonly VenuePosition[] {
    return this.#data.positions();
  }

  /** The end of an order that the stream reported is final in any state of the stream. */
  endedOrder(field: "order_id" | "client_order_id", id: string): VenueOrder | null {
    return this.#data.endedOrder(field, id);
  }

  /** An order as it was reported last, open or ended. */
  order(orderId: string): VenueOrder | null {
    return this.#data.order(orderId);
  }

  /** The orders that are open now, of one market or of all. Returns null while the stream does not report all. */
  trackOpenOrders(marketId: number | null): TrackedOrders | null {
    if (this.#host.state !== "LIVE") return null;
    const ids = this.#data.openOrderIds(marketId);
    return {
      size: ids.length,
      canceledCount: () => {
        const ends = ids.map((id) => (this.#data.isOpen(id) ? null : this.#data.order(id)));
        // One that has not ended yet, or whose end is not known.
        if (ends.some((order) => order === null || !hasEnded(order))) return null;
        return ends.filter((order) => order?.status === "CANCELED").length;
      },
    };
  }

  /** An order under this client order id goes out: an end that was reported under it before is another order's. */
  noteSending(clientOrderId: string): void {
    this.#data.forgetEnd(clientOrderId);
  }

  /** As OwnOrders.follow; an end that was reported already is reported at once. */
  followOrder(clientOrderId: string, onEnd: (order: VenueOrder) => void): (() => void) | null {
    if (this.#host.state === "DOWN") return null;
    const ended = this.#data.endedOrder("client_order_id", clientOrderId);
    if (ended === null) return this.#orders.follow(clientOrderId, onEnd);
    onEnd(ended);
    return () => {};
  }

  apply(frame: VenuethreeAccountNews): Applied {
    const applied = this.#applied(frame);
    if (!applied.ok) return applied;
    // The first answer to a subscription is the channel's snapshot.
    return {
      ok: true,
      acknowledges: frame.isSnapshot ? accountChannel(`account_all_${frame.kind}`, this.#accountIndex) : null,
    };
  }

  /** Open orders first, ended ones after: one that ends between the two reads is in the second. */
  async load(call: CallOptions): Promise<Adopt | LoadRefused | null> {
    const { rest } = this.#deps;
    const token = this.access.readToken();
    if (token === null) return null;
    const number = ++this.#pictureCount;
    const openBefore = new Set(this.#data.openOrderIds(null));
    const page = { accountIndex: this.#accountIndex, marketId: null, limit: MAX_PAGE_ROWS, cursor: null };
    const [account, orders, trades] = await Promise.all([
      rest.accountByIndex(this.#accountIndex, call),
      rest.activeOrders(this.#accountIndex, null, token, call),
      rest.trades(page, token, call),
    ]);
    const ended = orders.ok ? await rest.inactiveOrders(page, token, call) : orders;
    if (!account.ok || !orders.ok || !trades.ok || !ended.ok) {
      const reads = [account, orders, trades, ended];
      const failed = reads.find(({ ok }) => !ok);
      if (failed?.ok === false && failed.code === "AUTH") this.access.refused();
      return refusedLoad(reads);
    }
    const truth: Truth = {
      picture: { number, positions: account.value.positions, asOfMs: account.asOfMs },
      openBefore,
      orders: orders.value.rows,
      ended: ended.value.rows,
      trades: trades.value.rows,
    };
    return () => this.#adopt(truth);
  }

  /** Public, one call. */
  async loadPositions(call: CallOptions): Promise<Adopt | null> {
    const number = ++this.#pictureCount;
    const account = await this.#deps.rest.accountByIndex(this.#accountIndex, call);
    if (!account.ok) return null;
    return () => this.#adoptPicture({ number, positions: account.value.positions, asOfMs: account.asOfMs });
  }

  noteEvent(event: AccountEvent): void {
    if (event.kind === "order" && hasEnded(event.order)) this.#orders.noteEnd(event.order);
  }

  #applied(frame: VenuethreeAccountNews): AppliedToState {
    switch (frame.kind) {
      case "orders":
        for (const { status } of frame.orders)
          if (statusOfWord(status) === "UNKNOWN") this.#deps.words.note("status", status);
        // Orders that left the list while nothing was streamed are found by the read that follows a snapshot.
        return this.#data.applyOrders(frame.orders);
      case "trades":
        return this.#data.applyTrades(frame.trades, false);
      case "positions": {
        const applied = this.#data.applyPositions(frame.positions, this.#venueNowMs());
        if (!applied.ok) return applied;
        this.#heldPicture = ++this.#pictureCount;
        this.#proven(frame.sentAtMs, frame.isSnapshot);
        return applied;
      }
    }
  }

  /** A whole picture was pushed; a snapshot is asked for, and as late as that. */
  #proven(sentAtMs: number | null, isSnapshot: boolean): void {
    const { clock, clockOffsetMs } = this.#deps;
    const { reads } = this.#host;
    const atMs = sentAtMs === null ? clock.wallMs() : sentAtMs - clockOffsetMs();
    reads.proven(atMs);
    if (!isSnapshot) reads.happened(atMs);
  }

  #adopt({ ended, openBefore, orders, picture, trades }: Truth): Adopted {
    const positions = this.#adoptPicture(picture);
    if (!positions.ok) return positions;
    const { differences } = positions;
    const listed = this.#data.applyOpenOrders(orders);
    if (!listed.ok) return { ...listed, differences };
    const left = listed.gone.filter((wire) => openBefore.has(wire.order_id));
    // Only how orders ended that we knew: the rest of the list is history.
    const gone = new Set(left.map((wire) => wire.order_id));
    const ends = this.#data.applyOrders(ended.filter((wire) => gone.has(wire.order_id)));
    const fills = this.#data.applyTrades(trades, true);
    if (!ends.ok) return { ...ends, differences };
    if (!fills.ok) return { ...fills, differences };
    for (const wire of left) if (this.#data.isOpen(wire.order_id)) this.#data.endUnknown(wire);
    return positions;
  }

  /** Where something newer is held, the answer changes and proves nothing, and agrees only where it says the same. */
  #adoptPicture({ asOfMs, number, positions }: Picture): Adopted {
    if (number < this.#heldPicture) return { ok: true, differences: 0, agrees: this.#data.holds(positions) };
    const applied = this.#data.applyPositions(positions, this.#venueNowMs());
    if (!applied.ok) return applied;
    this.#heldPicture = number;
    this.#host.reads.proven(asOfMs);
    return { ok: true, differences: applied.differences, agrees: true };
  }

  #venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }
}

/** Not UNKNOWN, which means that its end is not known. */
function hasEnded({ status }: VenueOrder): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
}
