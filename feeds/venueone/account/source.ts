/**
 * venueone's part of a watched account: three streams by address, which carry whole states, whole lists of open orders and
 * fills; each state bears the venue's time, which orders it among what was streamed and read (account/state.ts).
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, CallOptions } from "../../../engine/ports.js";
import {
  type AccountChannel,
  type AccountHost,
  type AccountSource,
  type Adopt,
  type Adopted,
  type Applied,
  PUBLIC_ACCESS,
  refusedLoad,
} from "../../shared/account/account-source.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import type { LoadRefused } from "../../shared/book/resync.js";
import type { VenueoneWireFill, VenueoneWireOrder } from "../market/wire.js";
import type { VenueoneAccountFrame } from "./frames.js";
import { OrderEnds, type OrderEndsDeps } from "./order-ends.js";
import type { VenueoneRest } from "./rest.js";
import { AccountState } from "./state.js";
import { type ReadFills, UnreadFills } from "./unread-fills.js";
import type { VenueoneWireAccount } from "./wire.js";

export const ACCOUNT_STREAMS = ["clearinghouseState", "openOrders", "userFills"] as const;
type AccountStreamType = (typeof ACCOUNT_STREAMS)[number];

/** Silence of a state stream after which REST is asked whether it is dead. */
const STATE_LIVENESS_MS = 20_000;
const NOT_YET = "a time that is not yet";

/** What the three streams say. */
export type VenueoneAccountNews = Extract<VenueoneAccountFrame, { readonly kind: AccountStreamType }>;

export interface VenueoneSourceDeps extends OrderEndsDeps {
  readonly clock: Clock;
  readonly clockOffset: ClockOffset;
  readonly rest: VenueoneRest;
  readonly instrumentOf: (coin: string) => Instrument | null;
}

export class VenueoneAccountSource implements AccountSource<string, VenueoneAccountNews> {
  readonly access = PUBLIC_ACCESS;
  readonly channels: readonly AccountChannel[];
  readonly #host: AccountHost;
  readonly #deps: VenueoneSourceDeps;
  readonly #data: AccountState;
  readonly #ends: OrderEnds;
  readonly #unread: UnreadFills;
  /** Whole lists of open orders that the stream brought. */
  #listCount = 0;

  constructor(host: AccountHost, deps: VenueoneSourceDeps) {
    this.channels = ACCOUNT_STREAMS.map((type) => ({
      name: streamName(type, host.key),
      // Whole states are pushed all the time, fills and lists as they change.
      livenessMs: type === "clearinghouseState" ? STATE_LIVENESS_MS : 0,
    }));
    this.#host = host;
    this.#deps = deps;
    const latestMs = (): number => deps.clockOffset.latestMs(deps.clock.wallMs());
    this.#data = new AccountState(deps.instrumentOf, (event) => host.emit(event), host.key, latestMs);
    this.#ends = new OrderEnds(host, this.#data, deps);
    this.#unread = new UnreadFills(host, deps);
  }

  get hasPicture(): boolean {
    return this.#data.hasState;
  }

  get needsRead(): boolean {
    return this.#data.needsState || this.#unread.isMissing;
  }

  positions(): readonly VenuePosition[] {
    return this.#data.positions();
  }

  apply(frame: VenueoneAccountNews): Applied {
    switch (frame.kind) {
      case "clearinghouseState":
        return this.#applyState(frame.account);
      case "openOrders":
        return this.#applyOrders(frame.orders);
      case "userFills":
        return this.#applyFills(frame.fills, frame.isSnapshot);
    }
  }

  async load(call: CallOptions): Promise<Adopt | LoadRefused | null> {
    const { rest } = this.#deps;
    const { key } = this.#host;
    const listCount = this.#listCount;
    const [account, orders, fills] = await Promise.all([
      rest.clearinghouseState(key, call),
      rest.frontendOpenOrders(key, call),
      this.#unread.read(call),
    ]);
    if (!account.ok || !orders.ok) return refusedLoad([account, orders]);
    return () => {
      this.#takeUnread(fills);
      // A list names no time: one that the stream brought during the read is kept.
      return this.#adopt(account.value, listCount === this.#listCount ? orders.value : null);
    };
  }

  async loadPositions(call: CallOptions): Promise<Adopt | null> {
    const { rest } = this.#deps;
    const [account, fills] = await Promise.all([
      rest.clearinghouseState(this.#host.key, call),
      this.#unread.read(call),
    ]);
    if (!account.ok) return null;
    return () => {
      this.#takeUnread(fills);
      return this.#adoptState(account.value);
    };
  }

  noteLost(): void {
    this.#unread.lost();
  }

  noteEvent(event: AccountEvent): void {
    if (event.kind === "fill") this.#host.reads.fills.filled(event.order.venueClientOrderId, event.qtyLots);
  }

  #applyState(account: VenueoneWireAccount): Applied {
    const { life, reads } = this.#host;
    const { clock, clockOffset } = this.#deps;
    // Whole states alone prove the account: nothing else shows what is held.
    life.noteFrame();
    const adopted = this.#adoptState(account);
    if (!adopted.ok) return adopted;
    const asOfMs = account.time - clockOffset.offsetMs;
    reads.happened(asOfMs);
    // The state names its own time: it proves as much as a read that began then, which was not later than now.
    if (adopted.agrees) reads.agreed(reads.begin() - Math.max(0, clock.wallMs() - asOfMs));
    return TAKEN;
  }

  #applyOrders(rows: readonly VenueoneWireOrder[]): Applied {
    const applied = this.#data.applyOrders(rows);
    if (!applied.ok) return applied;
    this.#listCount++;
    for (const row of applied.gone) this.#ends.lookUp(row);
    return TAKEN;
  }

  #applyFills(fills: readonly VenueoneWireFill[], isSnapshot: boolean): Applied {
    // A fill with a time in the future does not discard the others: nothing else would report them.
    const told = fills.filter(({ time }) => this.#isYet(time));
    const applied = this.#data.applyFills(told, isSnapshot);
    // Without a listener the end of an order need not be known.
    if (this.#host.listeners.size > 0) for (const oid of applied.unlisted) this.#ends.lookUpUnlisted(oid);
    if (!applied.ok) return applied;
    return told.length < fills.length ? { ok: false, problem: NOT_YET } : TAKEN;
  }

  /** Those that are known are left out; what does not fit is given up, and noted. */
  #takeUnread(fills: ReadFills | null): void {
    if (fills === null) return;
    const applied = this.#applyFills(fills.rows, true);
    if (!applied.ok) this.#host.noteUnreadable(applied.problem);
    fills.taken();
  }

  #adopt(account: VenueoneWireAccount, rows: readonly VenueoneWireOrder[] | null): Adopted {
    const state = this.#adoptState(account);
    const orders = rows === null ? null : this.#data.applyOrders(rows);
    if (!state.ok) return state;
    if (orders?.ok === false) return { ...orders, differences: state.differences };
    for (const row of orders?.gone ?? []) this.#ends.lookUp(row);
    return state;
  }

  /** It agrees where nothing newer was held. */
  #adoptState(account: VenueoneWireAccount): Adopted {
    if (!this.#isYet(account.time)) return { ok: false, problem: NOT_YET, differences: 0 };
    const agrees = account.time >= this.#data.stateMs;
    const applied = this.#data.applyState(account);
    if (!applied.ok) return applied;
    if (agrees) this.#host.reads.proven(account.time - this.#deps.clockOffset.offsetMs);
    return { ok: true, differences: applied.differences, agrees };
  }

  /** A state with a time in the future would count as newer than the truth until then. */
  #isYet(venueMs: number): boolean {
    const { clock, clockOffset } = this.#deps;
    return clockOffset.isPlausible(venueMs, clock.wallMs());
  }
}

const TAKEN: Applied = { ok: true, acknowledges: null };

/** The subscription's JSON text, as the venue takes it. */
export function streamName(type: string, user: string): string {
  return JSON.stringify({ type, user });
}
