/**
 * One venue's trading half against its local venue, on one virtual clock, for the shared chapters of the trading suite.
 * A test concludes from the local venue's own orders, positions and log, or from a read of the half.
 */
import { onTestFinished } from "vitest";
import type { Instrument } from "../../../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../../../engine/domain/order.js";
import type { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { RoutableVenue } from "../../../../engine/domain/venue.js";
import type {
  AccountHistory,
  AccountReader,
  AccountSession,
  AccountSettings,
  HistoryQuery,
  OpenSession,
  OrderRef,
  OrderSender,
} from "../../../../engine/ports.js";
import { untilSettled } from "../../../../feeds/shared/test/http-time.js";
import type { FaultInjector } from "../../../sim/core/server/faults.js";
import type { SimRequestLog, SimRequestRecord } from "../../../sim/core/server/request-log.js";
import type { SimExchange } from "../../../sim/core/engine/exchange.js";
import type { SimInstrument } from "../../../sim/core/model/types.js";
import { commandOf, opened, OPTIONS, unwrapRead, wholeTicks } from "../trading-half.js";

export interface TradingHalf {
  readonly reader: Pick<
    AccountReader,
    "readPositions" | "readOrder" | "readOpenOrders" | "readBalances" | "readFeeRates"
  > &
    Required<Pick<AccountReader, "findOrder" | "readAccount">>;
  readonly orders: Required<Omit<OrderSender, "scheduleCancel">> & Pick<OrderSender, "scheduleCancel">;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  openSession(raw: unknown, payer: string | null): OpenSession;
  openAddress?(address: string, payer: string | null): OpenSession;
}

export interface TradingSim {
  readonly restUrl: string;
  readonly exchange: SimExchange;
  readonly log: SimRequestLog;
  readonly faults: FaultInjector;
  stop(): Promise<void>;
}

/** What the venue does its own way, where the shared chapters meet it. Each is a fact of its room's README. */
export interface VenueHabits {
  /** Time from an answer to the moment at which reads show its subject. */
  readonly settleMs: number;
  /** The answer to an order says how it ended; otherwise it is a receipt, and a read says it. */
  readonly answersWithTheEnd: boolean;
  /** How an order ends that the venue refuses for what its book or its positions are. */
  readonly postOnlyThatTakes: "rejected" | "ended";
  readonly reduceOnlyOfNothing: "rejected" | "ended";
  readonly reduceOnlyOfTooMuch: "rejected" | "clamped";
  readonly triggerThatHolds: "rejected" | "fires";
  /** Outcome of a client id that is in use. */
  readonly duplicate: "rejected" | "ignored";
  /** Reads of an order show its time in force. */
  readonly saysTimeInForce: boolean;
  readonly hasFillOrKill: boolean;
  /** Null where this key cannot change an order. */
  readonly amend: { readonly keepsVenueOrderId: boolean; readonly answersWithTheOrder: boolean } | null;
  readonly countsCancelled: boolean;
  readonly cancelIsReceipt: boolean;
  /** Shortest countdown to a cancel of everything that the venue takes; null without one. */
  readonly countdownMs: number | null;
  /** Who refuses a foreign key: the venue at each order, or this service after one question. */
  readonly refusesKeysAtOrders: boolean;
  /** Reads that a session of an address alone may do. */
  readonly addressReads: "all" | "positions" | null;
  /** Reads of an account need no key. */
  readonly readsArePublic: boolean;
  /** Every signed request has a nonce. */
  readonly hasNonces: boolean;
  readonly saysMaintenance: boolean;
  readonly fundingHours: number;
  /** Its history has the rate of a funding payment. */
  readonly saysFundingRate: boolean;
  /** Patterns by which faults of the local venue match. */
  readonly routes: { readonly place: string; readonly cancelAll: string };
}

export interface StartOptions {
  /** Pace of the local market; slow where the test spans hours. */
  readonly stepMs?: number;
  /** Only the test fills the book. */
  readonly isEmpty?: boolean;
}

/** What a venue's own start returns; a bench is made of it. */
export interface TradingParts<S extends TradingSim = TradingSim, H extends TradingHalf = TradingHalf> {
  readonly sim: S;
  readonly clock: VirtualClock;
  readonly half: H;
  readonly instruments: ReadonlyMap<string, Instrument>;
  /** The local venue's name of the credentials' account. */
  readonly accountId: string;
  /** Credentials of a second account. */
  readonly otherCredentials: unknown;
  readonly logLines: readonly string[];
  /** A second process with the same credentials and no knowledge of the first. */
  another(): { readonly half: H; stop(): Promise<void> };
  stop(): Promise<void>;
}

export interface TradingVenue<P extends TradingParts = TradingParts> {
  readonly venue: RoutableVenue;
  /** Name in the describes: the venue and the kind of key. */
  readonly name: string;
  readonly habits: VenueHabits;
  readonly credentials: unknown;
  /** Credentials that the venue must refuse, by what is wrong with them. */
  readonly wrongCredentials: readonly (readonly [what: string, credentials: unknown])[];
  /** Address of the same account, where an address can be opened. */
  readonly address: string | null;
  /** Texts that must appear nowhere. */
  readonly secrets: readonly string[];
  start(options: StartOptions): Promise<P>;
}

/** Size of an order, in base units, that fits every venue's rules. */
const SIZE = 0.01;
/** Inside venuetwo's band of 2 %. */
const TAKES = 0.015;
const RESTS_AT = 0.95;

export class TradingBench<P extends TradingParts = TradingParts> {
  readonly venue: TradingVenue<P>;
  readonly parts: P;
  readonly sim: P["sim"];
  readonly clock: VirtualClock;
  readonly half: P["half"];
  readonly btc: Instrument;
  readonly eth: Instrument;
  readonly session: AccountSession;
  /** Lots of `SIZE`. */
  readonly lots: number;

  constructor(venue: TradingVenue<P>, parts: P) {
    this.venue = venue;
    this.parts = parts;
    this.sim = parts.sim;
    this.clock = parts.clock;
    this.half = parts.half;
    this.btc = listed(parts.instruments, "BTC");
    this.eth = listed(parts.instruments, "ETH");
    this.session = this.open(venue.credentials);
    this.lots = this.lotsOf(SIZE);
  }

  get accountId(): string {
    return this.parts.accountId;
  }

  get habits(): VenueHabits {
    return this.venue.habits;
  }

  open(credentials: unknown): AccountSession {
    return opened(this.half.openSession(credentials, null));
  }

  openOther(): AccountSession {
    return this.open(this.parts.otherCredentials);
  }

  lotsOf(size: number, instrument = this.btc): number {
    return Math.round(size * 10 ** instrument.qtyDecimals);
  }

  mark(instrument = this.btc): number {
    return this.sim.exchange.market.mark(instrument.nativeSymbol).markE8 / 1e8;
  }

  /** Returns a multiple of the mark, in whole units of the quote: on every venue's grid. */
  ticks(factor: number, instrument = this.btc): number {
    return wholeTicks(instrument, this.mark(instrument) * factor);
  }

  /** Returns a price of ours on the local venue's own scale. */
  simTicks(ticks: number): number {
    return ticks * 10 ** (this.simInstrument().priceDecimals - this.btc.priceDecimals);
  }

  simInstrument(): SimInstrument {
    const found = this.sim.exchange.instruments.get(this.btc.nativeSymbol);
    if (found === undefined) throw new Error("BTC is not listed");
    return found;
  }

  /** Returns a buy that crosses the book. */
  buy(changes: Partial<OrderCommand> = {}): OrderCommand {
    return commandOf(this.btc, { qtyLots: this.lots, priceTicks: this.ticks(1 + TAKES), ...changes });
  }

  /** Returns a reduce-only sale that crosses the book. */
  sell(changes: Partial<OrderCommand> = {}): OrderCommand {
    const priceTicks = this.ticks(1 - TAKES);
    return commandOf(this.btc, { side: "SELL", qtyLots: this.lots, priceTicks, reduceOnly: true, ...changes });
  }

  /** Returns a buy that rests below the mark. */
  resting(changes: Partial<OrderCommand> = {}): OrderCommand {
    const { instrument = this.btc } = changes;
    const priceTicks = this.ticks(RESTS_AT, instrument);
    return commandOf(instrument, { type: "LIMIT", timeInForce: "GTC", priceTicks, qtyLots: this.lots, ...changes });
  }

  restingInEth(): OrderCommand {
    return this.resting({ instrument: this.eth, qtyLots: this.lotsOf(0.1, this.eth) });
  }

  send(command: OrderCommand, session = this.session): Promise<PlaceOutcome> {
    return this.half.orders.place(session, command, OPTIONS);
  }

  /** Places an order, which must be accepted, and waits for its delay. Returns the venue's answer. */
  async place(command: OrderCommand, session = this.session): Promise<VenueOrder> {
    const outcome = await this.send(command, session);
    if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
    this.settle();
    return outcome.order;
  }

  /** As `place`, but returns the order as a read shows it then. */
  async placed(command: OrderCommand, session = this.session): Promise<VenueOrder> {
    await this.place(command, session);
    const order = await this.find(command, session);
    if (order === null) throw new Error("accepted, and not found");
    return order;
  }

  settle(): void {
    this.clock.advance(this.habits.settleMs);
  }

  /** Lets time pass until it is answered: a venue may decide after a delay of its own. */
  answered<T>(outcome: Promise<T>): Promise<T> {
    return untilSettled(this.clock, outcome);
  }

  find({ clientIdHex, instrument }: OrderCommand, session = this.session): Promise<VenueOrder | null> {
    return this.read({ clientIdHex }, instrument, session);
  }

  async read(ref: OrderRef, instrument = this.btc, session = this.session): Promise<VenueOrder | null> {
    return unwrapRead(await this.half.reader.readOrder(session, instrument, ref, OPTIONS));
  }

  async openOrders(instrument: Instrument | null = null): Promise<readonly VenueOrder[]> {
    return unwrapRead(await this.half.reader.readOpenOrders(this.session, instrument, OPTIONS));
  }

  /** Signed position, as the local venue has it. */
  positionLots(): number {
    return this.sim.exchange.accounts.position(this.accountId, this.btc.nativeSymbol, "BOTH")?.qtyLots ?? 0;
  }

  /** Orders that the local venue accepted. */
  taken(): readonly SimRequestRecord[] {
    return this.sim.log.records({ action: "place" }).filter(({ refusal }) => refusal === null);
  }

  /** Sets the house's depth, in a market that starts empty. */
  setDepth(bidTicks: number, askTicks: number, lots: number): void {
    const { nativeSymbol } = this.btc;
    this.sim.exchange.controls.setHouseLevel(nativeSymbol, "BUY", this.simTicks(bidTicks), lots);
    this.sim.exchange.controls.setHouseLevel(nativeSymbol, "SELL", this.simTicks(askTicks), lots);
  }
}

/** Starts the bench of this test; it stops when the test has finished. */
export async function start<P extends TradingParts>(
  venue: TradingVenue<P>,
  options: StartOptions = {},
): Promise<TradingBench<P>> {
  const parts = await venue.start(options);
  onTestFinished(() => parts.stop());
  return new TradingBench(venue, parts);
}

export function queryOf(fields: Partial<HistoryQuery> = {}): HistoryQuery {
  return { instrument: null, sinceMs: null, untilMs: null, limit: 100, cursor: null, ...fields };
}

export function listed(instruments: ReadonlyMap<string, Instrument>, symbol: string): Instrument {
  const instrument = instruments.get(symbol);
  if (instrument === undefined) throw new Error(`${symbol} is not listed`);
  return instrument;
}
