/**
 * One venue's trading half against its local venue, on one virtual clock: what the shared chapters of the trading suite
 * work with. What a test concludes comes from the local venue's own orders, positions and log, or from a read of the half.
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
import { commandOf, OPTIONS, unwrapRead, wholeTicks } from "../trading-half.js";

export interface TradingHalf {
  readonly reader: Pick<
    AccountReader,
    "readPositions" | "readOrder" | "readOpenOrders" | "readBalances" | "readFeeRates"
  > &
    Required<Pick<AccountReader, "findOrder" | "readAccount">>;
  readonly orders: Required<Omit<OrderSender, "scheduleCancel">> & Pick<OrderSender, "scheduleCancel">;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  openSession(raw: unknown): OpenSession;
  openAddress?(address: string): OpenSession;
}

export interface TradingSim {
  readonly restUrl: string;
  readonly exchange: SimExchange;
  readonly log: SimRequestLog;
  readonly faults: FaultInjector;
  stop(): Promise<void>;
}

/** What the venue does its own way, as far as the shared chapters meet it. Each is a fact of its room's README. */
export interface VenueHabits {
  /** From an answer to the moment at which reads show what it was about. */
  readonly settleMs: number;
  /** The answer to an order says how it ended; else it is a receipt, and a read says it. */
  readonly answersWithTheEnd: boolean;
  /** How an order ends that the venue refuses for what its book or its positions are. */
  readonly postOnlyThatTakes: "rejected" | "ended";
  readonly reduceOnlyOfNothing: "rejected" | "ended";
  readonly reduceOnlyOfTooMuch: "rejected" | "clamped";
  readonly triggerThatHolds: "rejected" | "fires";
  /** A client id that is in use. */
  readonly duplicate: "rejected" | "ignored";
  /** Reads of an order tell its time in force. */
  readonly saysTimeInForce: boolean;
  readonly hasFillOrKill: boolean;
  /** Absent where an order cannot be changed by this key. */
  readonly amend: { readonly keepsVenueOrderId: boolean; readonly answersWithTheOrder: boolean } | null;
  readonly countsCancelled: boolean;
  readonly cancelIsReceipt: boolean;
  /** The venue's own countdown to a cancel of everything: the shortest that it takes, and whose word refuses less. */
  readonly countdownMs: number | null;
  /** Whose word it is that a key is none of the account's: the venue's at each order, or ours after one question. */
  readonly refusesKeysAtOrders: boolean;
  /** What a session of an address alone may read. */
  readonly addressReads: "all" | "positions" | null;
  /** Reads of an account need no key. */
  readonly readsArePublic: boolean;
  /** Every signed request has a number of its own. */
  readonly hasNonces: boolean;
  readonly saysMaintenance: boolean;
  readonly fundingHours: number;
  /** Its history says the rate of a funding payment. */
  readonly saysFundingRate: boolean;
  /** What faults of the local venue are matched by. */
  readonly routes: { readonly place: string; readonly cancelAll: string };
}

export interface StartOptions {
  /** Pace of the local market; slow where hours pass. */
  readonly stepMs?: number;
  /** A book that nobody but the test fills. */
  readonly isEmpty?: boolean;
}

/** What a venue's own start gives; the rest of a bench is made of it. */
export interface TradingParts<S extends TradingSim = TradingSim, H extends TradingHalf = TradingHalf> {
  readonly sim: S;
  readonly clock: VirtualClock;
  readonly half: H;
  readonly instruments: ReadonlyMap<string, Instrument>;
  /** The name of the account that the credentials trade for, in the local venue. */
  readonly accountId: string;
  /** Of a second account. */
  readonly otherCredentials: unknown;
  readonly logLines: readonly string[];
  /** A second process with the same credentials, which knows nothing of the first. */
  another(): { readonly half: H; stop(): Promise<void> };
  stop(): Promise<void>;
}

export interface TradingVenue<P extends TradingParts = TradingParts> {
  readonly venue: RoutableVenue;
  /** Of the describes: the venue, and by which key. */
  readonly name: string;
  readonly habits: VenueHabits;
  readonly credentials: unknown;
  /** Credentials that the venue must refuse, by what is wrong with them. */
  readonly wrongCredentials: readonly (readonly [what: string, credentials: unknown])[];
  /** Of the same account, where an address can be opened. */
  readonly address: string | null;
  /** Texts that may come out nowhere. */
  readonly secrets: readonly string[];
  start(options: StartOptions): Promise<P>;
}

/** Base units of an order that no rule of a venue minds. */
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
    return opened(this.half.openSession(credentials));
  }

  openOther(): AccountSession {
    return this.open(this.parts.otherCredentials);
  }

  lotsOf(size: number, instrument = this.btc): number {
    return Math.round(size * 10 ** instrument.qtyDecimals);
  }

  mark(instrument = this.btc): number {
    return this.sim.exchange.mark(instrument.nativeSymbol).markE8 / 1e8;
  }

  /** Times the mark, in whole units of the quote: on every venue's grid. */
  ticks(factor: number, instrument = this.btc): number {
    return wholeTicks(instrument, this.mark(instrument) * factor);
  }

  /** A price of ours on the local venue's own scale. */
  simTicks(ticks: number): number {
    return ticks * 10 ** (this.simInstrument().priceDecimals - this.btc.priceDecimals);
  }

  simInstrument(): SimInstrument {
    const found = this.sim.exchange.instruments.get(this.btc.nativeSymbol);
    if (found === undefined) throw new Error("BTC is not listed");
    return found;
  }

  /** Crosses the book. */
  buy(changes: Partial<OrderCommand> = {}): OrderCommand {
    return commandOf(this.btc, { qtyLots: this.lots, priceTicks: this.ticks(1 + TAKES), ...changes });
  }

  /** Crosses the book and only reduces. */
  sell(changes: Partial<OrderCommand> = {}): OrderCommand {
    const priceTicks = this.ticks(1 - TAKES);
    return commandOf(this.btc, { side: "SELL", qtyLots: this.lots, priceTicks, reduceOnly: true, ...changes });
  }

  /** A buy that rests below the mark. */
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

  /** Accepted, and its delay waited for; as the venue answered. */
  async place(command: OrderCommand, session = this.session): Promise<VenueOrder> {
    const outcome = await this.send(command, session);
    if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
    this.settle();
    return outcome.order;
  }

  /** As `place`; as a read shows it then. */
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

  /** Signed, as the local venue has it. */
  positionLots(): number {
    return this.sim.exchange.position(this.accountId, this.btc.nativeSymbol, "BOTH")?.qtyLots ?? 0;
  }

  /** Orders that the local venue took in. */
  taken(): readonly SimRequestRecord[] {
    return this.sim.log.records({ action: "place" }).filter(({ refusal }) => refusal === null);
  }

  /** The house's depth, in a market that is started empty. */
  setDepth(bidTicks: number, askTicks: number, lots: number): void {
    const { nativeSymbol } = this.btc;
    this.sim.exchange.setHouseLevel(nativeSymbol, "BUY", this.simTicks(bidTicks), lots);
    this.sim.exchange.setHouseLevel(nativeSymbol, "SELL", this.simTicks(askTicks), lots);
  }
}

/** The bench of this test; it is stopped when the test has finished. */
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

function opened(result: OpenSession): AccountSession {
  if (!result.ok) throw new Error(result.problem);
  return result.session;
}

function listed(instruments: ReadonlyMap<string, Instrument>, symbol: string): Instrument {
  const instrument = instruments.get(symbol);
  if (instrument === undefined) throw new Error(`${symbol} is not listed`);
  return instrument;
}
