/** The trading half of the venuefour room, wired: sessions, account reads, orders, settings, histories, streams. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { AccountHistory, AccountNames, AccountSettings, OrderSender } from "../../engine/ports.js";
import { failedRead } from "../shared/net/call-results.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import type { ConnectionBudget } from "../shared/net/connection-budget.js";
import type { Connector } from "../shared/net/connector.js";
import type { VenueHttp } from "../shared/net/http.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import type { StreamedReader } from "../shared/account/position-reads.js";
import { streamedSessions } from "../shared/orders/streamed-sessions.js";
import { VerifiedReads } from "../shared/account/verified-reads.js";
import { VenuefourAccount } from "./account/reader.js";
import { VenuefourAccountNames } from "./orders/names.js";
import { AccountRest } from "./account/rest.js";
import { type VenuefourAccountStreams, venuefourAccountStreams } from "./account/streams.js";
import { VenuefourHistory } from "./account/history.js";
import { OrderMemory } from "./account/order-memory.js";
import { OrderSearch } from "./account/search.js";
import { VenuefourOrders } from "./orders/orders.js";
import { VenuefourExchange } from "./orders/exchange.js";
import { VenuefourSession } from "./account/session.js";
import { VenuefourSettings } from "./orders/settings.js";
import { KnownSettings } from "./account/known-settings.js";

export interface VenuefourTradingDeps {
  readonly http: VenueHttp;
  /** Path of the API's root on its host, no trailing slash. */
  readonly root: string;
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly instruments: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
  /** Which callers the venue has answered well; the pool shares its lanes by it. Default: one of its own. */
  readonly standing?: CallerStanding;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The venue found our clock wrong: measure it again. */
  readonly onClockError?: () => Promise<void>;
}

export interface VenuefourTrading {
  readonly reader: StreamedReader;
  readonly orders: OrderSender;
  readonly streams: VenuefourAccountStreams;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly accountNames: AccountNames;
}

export function createVenuefourTrading(deps: VenuefourTradingDeps): VenuefourTrading {
  const { ackLatency, budget, clock, clockOffsetMs, connector, logger, random, wsUrl } = deps;
  const instruments = new InstrumentIndex(deps.instruments);
  const reads = createReads(deps, instruments);
  const { history, knownSettings, memory, reader, rest } = reads;
  const onClockError = deps.onClockError ?? (() => Promise.resolve());
  const exchange = new VenuefourExchange({ rest, clock, ackLatency, onClockError });
  const streams = venuefourAccountStreams({
    ...{ wsUrl, connector, clock, random, logger, budget, history, memory, clockOffsetMs },
    account: reader,
    settings: knownSettings,
    instrumentOf: (nativeSymbol) => instruments.byNativeSymbol(nativeSymbol),
  });
  const orders = new VenuefourOrders({
    ...{ exchange, memory, reader, instruments, listed: deps.instruments, clock, logger },
    glance: (session, instrument, venueOrderId, options) =>
      session instanceof VenuefourSession
        ? reads.search.glance(session, instrument, venueOrderId, options)
        : Promise.resolve(failedRead("AUTH", "session of another venue")),
    isStreamed: (session) => streams.ofSession(session)?.isLive === true,
  });
  const accountNames = new VenuefourAccountNames({
    exchange,
    clock,
    random,
    anySymbol: () => deps.instruments().values().next().value?.nativeSymbol ?? null,
  });
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  return {
    // One read has all positions of an account.
    ...streamedSessions({ rest: reader, orders, streams, verified, readsWhole: true }),
    streams,
    history,
    settings: new VenuefourSettings(knownSettings, exchange),
    accountNames,
  };
}

/** What an account is read by, and what is remembered of it between reads. */
function createReads(deps: VenuefourTradingDeps, instruments: InstrumentIndex) {
  const { clock, clockOffsetMs, http, logger, root } = deps;
  const standing = deps.standing ?? new CallerStanding(clock);
  const rest = new AccountRest({ http, root, clock, standing, clockOffsetMs });
  const memory = new OrderMemory(clock);
  const knownSettings = new KnownSettings(rest, clock);
  const search = new OrderSearch({ rest, memory, instruments, clock, clockOffsetMs, logger });
  const history = new VenuefourHistory({ rest, instruments, clock });
  const reader = new VenuefourAccount({ rest, search, memory, settings: knownSettings, instruments, logger });
  return { rest, memory, knownSettings, search, history, reader };
}
