/** The trading half of the venuetwo room, wired: sessions, account reads, orders, listen keys. The market half is its own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { AccountReader, NonceReservations, OpenSession, OrderSender } from "../../engine/ports.js";
import type { VenueHttp } from "../shared/http.js";
import { InstrumentIndex } from "../shared/instrument-index.js";
import { VenuetwoAccount, VenuetwoListenKeys } from "./account.js";
import { createVenuetwoNonces } from "./nonces.js";
import { VenuetwoOrders } from "./orders.js";
import { VenuetwoRest } from "./rest.js";
import { openVenuetwoSession } from "./session.js";
import { MESSAGE_CHAIN_ID, MessageSigner } from "./sign.js";

export interface VenuetwoTradingDeps {
  readonly http: VenueHttp;
  readonly instruments: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nonces: NonceReservations;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  readonly ackLatency: LatencyWindow;
  readonly isMainnet: boolean;
  /** The venue found our clock wrong: measure it again. Resolves when `clockOffsetMs` is up to date; may fail. */
  readonly onClockError?: () => Promise<void>;
}

export interface VenuetwoTrading {
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly listenKey: VenuetwoListenKeys;
  openSession(rawCredentials: unknown): OpenSession;
}

export function createVenuetwoTrading(deps: VenuetwoTradingDeps): VenuetwoTrading {
  const { ackLatency, clock, clockOffsetMs, logger } = deps;
  const rest = new VenuetwoRest({
    http: deps.http,
    signer: new MessageSigner(deps.isMainnet ? MESSAGE_CHAIN_ID.mainnet : MESSAGE_CHAIN_ID.testnet),
    nonces: createVenuetwoNonces(clock, deps.nonces, clockOffsetMs),
    clock,
    clockOffsetMs,
    onClockError: deps.onClockError ?? (() => Promise.resolve()),
  });
  return {
    reader: new VenuetwoAccount({ rest, instruments: new InstrumentIndex(deps.instruments), logger }),
    orders: new VenuetwoOrders({ rest, clock, clockOffsetMs, logger, ackLatency }),
    listenKey: new VenuetwoListenKeys(rest),
    openSession: openVenuetwoSession,
  };
}
