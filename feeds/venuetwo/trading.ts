/** The trading half of the venuetwo room, wired: sessions, account reads, orders, listen keys. The market half is its own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { KeyRegistrar } from "../../engine/key-registrar.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { AccountNames, AccountSettings, NonceReservations, OpenSession, OrderSender } from "../../engine/ports.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import type { VenueHttp } from "../shared/net/http.js";
import type { NonceSequencer } from "../shared/orders/nonce-sequencer.js";
import { createAddressCache } from "../shared/sign/key-cache.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import { VenuetwoAccountNames } from "./orders/names.js";
import { VenuetwoAccount } from "./account/reader.js";
import { VenuetwoHistory } from "./account/history.js";
import { VenuetwoExchange } from "./orders/exchange.js";
import { VenuetwoListenKeys } from "./account/listen-key.js";
import { createVenuetwoNonces } from "./sign/nonces.js";
import { VenuetwoOrderChanges } from "./orders/changes.js";
import { OrderMemory } from "./account/order-memory.js";
import { VenuetwoOrders } from "./orders/orders.js";
import { VenuetwoRest } from "./account/rest.js";
import { openWithStored } from "../shared/account/stored-secret.js";
import { openVenuetwoSession } from "./account/session.js";
import { VenuetwoIssuedKeys } from "./money/issued-keys.js";
import { createMoneyRails } from "./money/rails.js";
import { VenuetwoAgents } from "./money/register.js";
import type { VenuetwoRouteOptions } from "./money/routes.js";
import { WebGateway } from "./money/web-gateway.js";
import { VenuetwoSettings } from "./orders/settings.js";
import { MESSAGE_CHAIN_ID, MessageSigner } from "./sign/sign.js";

export interface VenuetwoTradingDeps {
  readonly http: VenueHttp;
  readonly instruments: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nonces: NonceReservations;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** After a step of our clock the least that it may be: of nonces, which only go up. */
  readonly leastOffsetMs: () => number;
  readonly ackLatency: LatencyWindow;
  readonly isMainnet: boolean;
  /** Of the keys of server wallets; absent: agents of ninety days that may not withdraw. */
  readonly keys?: KeyOptions;
  /** Of the venue's other hosts; absent: `http` reaches them all, as at a local venue. */
  readonly money?: MoneyOptions;
  /** Which callers the venue has answered well; the pool shares its lanes by it. Absent: one that nobody else sees. */
  readonly standing?: CallerStanding;
  /** The venue found our clock wrong: measure it again. Resolves when `clockOffsetMs` is up to date; may fail. */
  readonly onClockError?: () => Promise<void>;
}

export interface KeyOptions {
  /** Life of an agent. */
  readonly agentDays: number;
  /** From where an agent may withdraw, and where a key that the venue makes may be used. Empty: no agent may withdraw. */
  readonly ipWhitelist: readonly string[];
  /** To the venue's web gateway, where the venue makes the keys; null: agents are approved. */
  readonly webHttp: VenueHttp | null;
}

export interface MoneyOptions {
  /** To the host of the spot market. */
  readonly spotHttp: VenueHttp;
  /** To the venue's web gateway. */
  readonly webHttp: VenueHttp;
  /** Absent: the pair of interface spec section 8. */
  readonly routes?: readonly VenuetwoRouteOptions[] | undefined;
}

const DEFAULT_KEYS: KeyOptions = { agentDays: 90, ipWhitelist: [], webHttp: null };

export interface VenuetwoTrading {
  readonly reader: VenuetwoAccount;
  readonly orders: Required<OrderSender>;
  readonly history: VenuetwoHistory;
  readonly settings: AccountSettings;
  readonly keys: KeyRegistrar;
  readonly money: VenueMoney;
  readonly listenKey: VenuetwoListenKeys;
  readonly accountNames: AccountNames;
  openSession(rawCredentials: unknown, payer: string | null): OpenSession;
}

export function createVenuetwoTrading(deps: VenuetwoTradingDeps): VenuetwoTrading {
  const { ackLatency, clock, clockOffsetMs, leastOffsetMs, logger } = deps;
  const nonces = createVenuetwoNonces(clock, deps.nonces, leastOffsetMs);
  const standing = deps.standing ?? new CallerStanding(clock);
  const restDeps = {
    signer: new MessageSigner(deps.isMainnet ? MESSAGE_CHAIN_ID.mainnet : MESSAGE_CHAIN_ID.testnet),
    nonces,
    clock,
    standing,
    clockOffsetMs,
    leastOffsetMs,
    onClockError: deps.onClockError ?? (() => Promise.resolve()),
  };
  const rest = new VenuetwoRest({ ...restDeps, http: deps.http });
  const { spotHttp, webHttp, routes }: MoneyOptions = deps.money ?? { spotHttp: deps.http, webHttp: deps.http };
  const spotRest = new VenuetwoRest({ ...restDeps, http: spotHttp });
  const instruments = new InstrumentIndex(deps.instruments);
  const memory = new OrderMemory();
  const addresses = createAddressCache();
  const exchange = new VenuetwoExchange({ rest, clock, clockOffsetMs, ackLatency });
  const accountNames = new VenuetwoAccountNames(rest);
  const changes = new VenuetwoOrderChanges({ exchange, rest, memory, names: accountNames, clock });
  const reader = new VenuetwoAccount({ rest, instruments, memory, clock, clockOffsetMs, logger });
  return {
    reader,
    orders: new VenuetwoOrders({ exchange, changes, listed: deps.instruments, memory, logger }),
    history: new VenuetwoHistory({ rest, search: reader.search, instruments, clock, clockOffsetMs }),
    settings: new VenuetwoSettings({ rest, exchange, clock }),
    keys: createKeys({ ...deps, standing }, rest, nonces),
    money: createMoneyRails({ rest, spotRest, webHttp, routes, nonces, clock, clockOffsetMs, leastOffsetMs }),
    listenKey: new VenuetwoListenKeys(rest),
    accountNames,
    openSession: (raw, payer) =>
      openWithStored(raw, "apiSecret", (block) => openVenuetwoSession(block, addresses, payer)),
  };
}

function createKeys(
  deps: VenuetwoTradingDeps & { readonly standing: CallerStanding },
  rest: VenuetwoRest,
  nonces: NonceSequencer,
): KeyRegistrar {
  const { clock, clockOffsetMs, http, isMainnet, leastOffsetMs, standing } = deps;
  const { agentDays, ipWhitelist, webHttp } = deps.keys ?? DEFAULT_KEYS;
  if (webHttp !== null) return new VenuetwoIssuedKeys({ gateway: new WebGateway(webHttp), clock, ipWhitelist });
  return new VenuetwoAgents({
    ...{ http, rest, nonces, standing, clock, isMainnet, agentDays, ipWhitelist },
    ...{ clockOffsetMs, leastOffsetMs },
  });
}
