/** The trading half of the venueone room, wired: sessions, account reads, orders. The market half is its own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type {
  AccountReader,
  AccountSession,
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
import { VenueoneOrders } from "./orders.js";
import { VenueoneRest } from "./rest.js";
import { AddressCache } from "./address-cache.js";
import { openVenueoneSession, VenueoneSession } from "./session.js";
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
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  openSession(rawCredentials: unknown): OpenSession;
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
  return {
    reader: new VenueoneAccount({ rest, accounts, instruments, nonces, clock, clockOffsetMs, logger }),
    orders: new VenueoneOrders({
      rest,
      signer,
      nonces,
      accounts,
      clock,
      logger,
      ackLatency,
      clockOffsetMs,
      onClockError,
    }),
    openSession: (raw) => openVenueoneSession(raw, addresses),
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
