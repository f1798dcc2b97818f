/** The trading half of the venueone room, wired: sessions, account reads, orders. The market half is its own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type {
  AccountHistory,
  AccountNames,
  AccountSession,
  AccountSettings,
  CallOptions,
  NonceReservations,
  OpenSession,
  OrderSender,
  Read,
} from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import type { VenueHttp } from "../shared/http.js";
import { InstrumentIndex } from "../shared/instrument-index.js";
import { VenueoneAccount } from "./account.js";
import { AccountResolver } from "./account-resolver.js";
import { createVenueoneNonces } from "./nonces.js";
import { VenueoneExchange } from "./exchange.js";
import { VenueoneHistory } from "./history.js";
import { VenueoneOrderChanges } from "./order-changes.js";
import { OrderFills } from "./order-fills.js";
import { VenueoneOrders } from "./orders.js";
import { VenueoneRest } from "./rest.js";
import { AddressCache } from "./address-cache.js";
import { openVenueoneAddress, openVenueoneSession, VenueoneSession } from "./session.js";
import { VenueoneSettings } from "./settings.js";
import { L1Signer } from "./sign.js";

export interface VenueoneTradingDeps {
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
  /** The venue found our clock wrong: measure it again. */
  readonly onClockError?: () => void;
}

export interface VenueoneTrading {
  readonly reader: VenueoneAccount;
  readonly orders: Required<OrderSender>;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  openSession(rawCredentials: unknown): OpenSession;
  openAddress(walletAddress: string): OpenSession;
  readonly accountNames: AccountNames;
  /** The account behind a session, for account streams, which name a user: never subscribe the key's own address. */
  resolveAccount(session: AccountSession, options: CallOptions): Promise<Read<string>>;
  /** The same where it needs no question to the venue, else null. */
  knownAccount(session: AccountSession): Read<string> | null;
}

export function createVenueoneTrading(deps: VenueoneTradingDeps): VenueoneTrading {
  const { ackLatency, clock, clockOffsetMs, logger } = deps;
  const rest = new VenueoneRest(deps.http);
  const accounts = new AccountResolver(rest, clock);
  const nonces = createVenueoneNonces(clock, deps.nonces, clockOffsetMs);
  const instruments = new InstrumentIndex(deps.instruments);
  const signer = new L1Signer(deps.isMainnet);
  const addresses = new AddressCache();
  const onClockError = deps.onClockError ?? (() => undefined);
  const fills = new OrderFills({ rest, clock, clockOffsetMs });
  const reader = new VenueoneAccount({ rest, accounts, instruments, nonces, fills, clock, clockOffsetMs, logger });
  const exchange = new VenueoneExchange({
    rest,
    signer,
    nonces,
    accounts,
    clock,
    logger,
    ackLatency,
    clockOffsetMs,
    onClockError,
  });
  const instrumentOf = (coin: string): Instrument | null => instruments.byNativeSymbol(coin);
  const changes = new VenueoneOrderChanges({ exchange, reader, instrumentOf, clock, clockOffsetMs });
  return {
    reader,
    orders: new VenueoneOrders({ exchange, signer, changes, logger, clockOffsetMs }),
    history: new VenueoneHistory({ rest, accounts, instruments, fills, clock, clockOffsetMs }),
    settings: new VenueoneSettings({ rest, accounts, exchange, clock }),
    accountNames: namesOf(accounts),
    openSession: (raw) => openVenueoneSession(raw, addresses),
    openAddress: openVenueoneAddress,
    async resolveAccount(session, options) {
      if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
      return accounts.resolve(session, options);
    },
    knownAccount: (session) =>
      session instanceof VenueoneSession
        ? accounts.resolveKnown(session)
        : failedRead("AUTH", "session of another venue"),
  };
}

/** An agent's principal, or the vault that the credentials name. */
function namesOf(accounts: AccountResolver): AccountNames {
  return {
    known(session) {
      const account = session instanceof VenueoneSession ? accounts.resolveKnown(session) : null;
      return account?.ok === true ? account.value : null;
    },
    async read(session, options) {
      if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
      return accounts.resolve(session, options);
    },
  };
}
