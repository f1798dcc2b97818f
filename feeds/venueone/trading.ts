/** The trading half of the venueone room, wired: sessions, account reads, orders. The market half is its own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { AgentRegistrar } from "../../engine/key-registrar.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type {
  AccountHistory,
  AccountNames,
  AccountSession,
  AccountSettings,
  CallOptions,
  Lane,
  NonceReservations,
  OpenSession,
  OrderSender,
  Read,
} from "../../engine/ports.js";
import { failedRead } from "../shared/net/call-results.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import type { VenueHttp } from "../shared/net/http.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import { VenueoneAccount } from "./account/reader.js";
import { AccountResolver } from "./account/resolver.js";
import type { AddressBudget } from "./orders/address-budget.js";
import { BudgetReadings } from "./orders/budget-readings.js";
import { createVenueoneNonces } from "./orders/nonces.js";
import { VenueoneExchange } from "./orders/exchange.js";
import { VenueoneHistory } from "./account/history.js";
import { VenueoneOrderChanges } from "./orders/changes.js";
import { OrderFills } from "./account/order-fills.js";
import { VenueoneOrders } from "./orders/orders.js";
import { VenueoneRest } from "./account/rest.js";
import { VenueoneAccountNames } from "./orders/names.js";
import { openWithStored } from "../shared/account/stored-secret.js";
import { createAddressCache } from "../shared/sign/key-cache.js";
import { openVenueoneAddress, openVenueoneSession, VenueoneSession } from "./account/session.js";
import { createMoneyRails } from "./money/rails.js";
import { VenueoneAgents } from "./money/register.js";
import type { VenueoneRouteOptions } from "./money/routes.js";
import { VenueoneSettings } from "./orders/settings.js";
import { L1Signer } from "./sign/sign.js";

export interface VenueoneTradingDeps {
  readonly http: VenueHttp;
  readonly instruments: () => ReadonlyMap<string, Instrument>;
  /** The number of a coin in the venue's list, also of one that cannot be traded here; null: it is not in the list. */
  readonly numberOf: (coin: string) => number | null;
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
  /** Life of an agent in days; absent: as long as the venue gives it by itself. */
  readonly agentDays?: number;
  /** Absent: the pair of interface spec section 8, or that of the test network. */
  readonly moneyRoute?: VenueoneRouteOptions | undefined;
  /** Which callers the venue has answered well; the pool shares its lanes by it. Absent: one that nobody else sees. */
  readonly standing?: CallerStanding;
  /** What the pool charges each address for its requests. Absent: nothing. */
  readonly addressBudget?: AddressBudget;
  /** The venue found our clock wrong: measure it again. */
  readonly onClockError?: () => void;
}

export interface VenueoneTrading {
  readonly reader: VenueoneAccount;
  readonly orders: Required<OrderSender>;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly keys: AgentRegistrar;
  readonly money: VenueMoney;
  openSession(rawCredentials: unknown, payer: string | null): OpenSession;
  openAddress(walletAddress: string, payer: string | null): OpenSession;
  addressOf(session: AccountSession): string | null;
  readonly accountNames: AccountNames;
  /** How long one more request of this lane would wait for the address's own budget; 0: not at all. */
  budgetWaitMs(session: AccountSession, lane: Lane): number;
  /** The account behind a session, for account streams, which name a user: never subscribe the key's own address. */
  resolveAccount(session: AccountSession, options: CallOptions): Promise<Read<string>>;
  /** The same where it needs no question to the venue, else null. */
  knownAccount(session: AccountSession): Read<string> | null;
}

/** What the venue gives an agent that names no end. */
const DEFAULT_AGENT_DAYS = 90;

export function createVenueoneTrading(deps: VenueoneTradingDeps): VenueoneTrading {
  const { ackLatency, clock, clockOffsetMs, logger } = deps;
  const rest = new VenueoneRest(deps.http);
  const standing = deps.standing ?? new CallerStanding(clock);
  const accounts = new AccountResolver(rest, clock, standing);
  const nonces = createVenueoneNonces(clock, deps.nonces, deps.leastOffsetMs);
  const instruments = new InstrumentIndex(deps.instruments);
  const signer = new L1Signer(deps.isMainnet);
  const addresses = createAddressCache();
  const onClockError = deps.onClockError ?? (() => undefined);
  const fills = new OrderFills({ rest, clock, clockOffsetMs });
  const reader = new VenueoneAccount({ rest, accounts, instruments, nonces, fills, clock, clockOffsetMs, logger });
  const addressBudget = readBudget(deps.addressBudget, { rest, accounts, standing, clock });
  const exchange = new VenueoneExchange({
    ...{ addressBudget, rest, signer, nonces, accounts, standing, clock, logger, ackLatency, clockOffsetMs },
    onClockError,
  });
  const numberOf = (coin: string): number | null => instruments.byNativeSymbol(coin)?.nativeId ?? deps.numberOf(coin);
  const { isMainnet, leastOffsetMs } = deps;
  const ofWallets = { rest, nonces, standing, isMainnet, leastOffsetMs, onClockError };
  const changes = new VenueoneOrderChanges({ exchange, reader, numberOf, clock, clockOffsetMs });
  return {
    reader,
    orders: new VenueoneOrders({ exchange, signer, changes, listed: deps.instruments, logger, clockOffsetMs }),
    history: new VenueoneHistory({ rest, accounts, instruments, fills, clock, clockOffsetMs }),
    settings: new VenueoneSettings({ rest, accounts, exchange, clock }),
    keys: new VenueoneAgents({ ...ofWallets, agentDays: deps.agentDays ?? DEFAULT_AGENT_DAYS }),
    money: createMoneyRails({ ...ofWallets, clock, clockOffsetMs, route: deps.moneyRoute }),
    accountNames: new VenueoneAccountNames({ accounts, exchange, clock }),
    budgetWaitMs(session, lane) {
      if (!(session instanceof VenueoneSession) || addressBudget === null) return 0;
      // The caller is about to send, or was refused by the last reading.
      addressBudget.readings.freshen(session);
      return addressBudget.budget.waitMs(accounts.peek(session), 1, lane);
    },
    openSession: (raw, payer) =>
      openWithStored(raw, "privateKey", (block) => openVenueoneSession(block, addresses, payer)),
    openAddress: openVenueoneAddress,
    ...accountsOfSessions(accounts),
  };
}

/** The budget with its readings at the venue; null where nothing is charged. */
function readBudget(
  budget: AddressBudget | undefined,
  deps: Omit<ConstructorParameters<typeof BudgetReadings>[0], "budget">,
): { readonly budget: AddressBudget; readonly readings: BudgetReadings } | null {
  return budget === undefined ? null : { budget, readings: new BudgetReadings({ ...deps, budget }) };
}

function accountsOfSessions(
  accounts: AccountResolver,
): Pick<VenueoneTrading, "addressOf" | "knownAccount" | "resolveAccount"> {
  const foreign = failedRead("AUTH", "session of another venue");
  const knownAccount = (session: AccountSession): Read<string> | null =>
    session instanceof VenueoneSession ? accounts.resolveKnown(session) : foreign;
  return {
    knownAccount,
    addressOf(session) {
      const account = knownAccount(session);
      return account?.ok === true ? account.value : null;
    },
    async resolveAccount(session, options) {
      return session instanceof VenueoneSession ? accounts.resolve(session, options) : foreign;
    },
  };
}
