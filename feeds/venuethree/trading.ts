/** The trading half of the venuethree room, wired: sessions, account reads, orders, history, settings. The market half is its own. */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type {
  AccountHistory,
  AccountNames,
  AccountSession,
  AccountSettings,
  CallOptions,
  OpenSession,
  Read,
} from "../../engine/ports.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import { isAddress } from "../shared/sign/eip712.js";
import type { VenueHttp } from "../shared/net/http.js";
import { VenuethreeAccount } from "./account/reader.js";
import { VenuethreeAccountRest } from "./account/rest.js";
import { AuthTokens } from "./account/auth-tokens.js";
import { NoncePool } from "./sign/schnorr.js";
import { VenuethreeHistory } from "./account/history.js";
import { type ConfirmedKey, KeyDirectory } from "./account/key-directory.js";
import { KeyLanes } from "./orders/key-lanes.js";
import { TIERS, type TierName } from "./rules/limits.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import { VenuethreeOrders } from "./orders/orders.js";
import { createPublicKeyCache } from "./sign/sign.js";
import { SentOrders } from "./account/sent-orders.js";
import { accountIndexOf, openVenuethreeAddress, openVenuethreeSession, VenuethreeSession } from "./account/session.js";
import { VenuethreeSettings } from "./orders/settings.js";
import type { TxBudget } from "./orders/tx-budget.js";
import type { TxConfirmationDeps } from "./orders/tx-confirmation.js";
import { laneName, VenuethreeExchange } from "./orders/exchange.js";
import type { TxSocket } from "./orders/tx-socket.js";

/** Pairs made beforehand: a burst of as many orders signs in a tenth of a millisecond each. */
const POOL_PAIRS = 256;
/** Made at a time, about half a millisecond each, with pauses that leave the loop to others. */
const PAIRS_PER_STEP = 1;
const STEP_EVERY_MS = 4;

export interface VenuethreeTradingDeps {
  /** Which callers the venue has answered well; the pool shares its lanes by it. Default: one of its own. */
  readonly standing?: CallerStanding;
  readonly http: VenueHttp;
  readonly instruments: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  readonly ackLatency: LatencyWindow;
  /** First hashed element of every transaction. */
  readonly chainId: number;
  readonly tier: TierName;
  /** Carries transactions where it is open. Default: each is a single request. */
  readonly txSocket?: TxSocket;
  /** Of what the pool and the connection charge too. Default: nothing is counted. */
  readonly txBudget?: TxBudget;
}

export interface VenuethreeTrading {
  readonly reader: VenuethreeAccount;
  readonly orders: VenuethreeOrders;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly rest: VenuethreeAccountRest;
  readonly confirmation: TxConfirmationDeps;
  readonly tokens: AuthTokens;
  readonly instruments: InstrumentIndex;
  openSession(rawCredentials: unknown, payer: string | null): OpenSession;
  openAddress(walletAddress: string, payer: string | null): OpenSession;
  namesAnother(rawCredentials: unknown, name: string): boolean;
  addressOf(session: AccountSession): string | null;
  readonly accountNames: AccountNames;
  /** The account and key behind a session, confirmed by the venue. */
  resolveKey(session: AccountSession, options: CallOptions): Promise<Read<ConfirmedKey>>;
  /** The same where it needs no question to the venue, else null. */
  knownKey(session: AccountSession): Read<ConfirmedKey> | null;
  /** Ends the filling of the pool. */
  stop(): void;
}

export function createVenuethreeTrading(deps: VenuethreeTradingDeps): VenuethreeTrading {
  const { clock, clockOffsetMs, logger } = deps;
  const budget = deps.txBudget ?? null;
  const rest = new VenuethreeAccountRest(deps.http, deps.tier, (index, address) => budget?.note(index, address));
  const { exchange, keys, pool } = createSigning(deps, rest, budget);
  const filler = new PoolFiller(clock, pool);
  const tokens = new AuthTokens(clock, clockOffsetMs, pool);
  const instruments = new InstrumentIndex(deps.instruments);
  const sentOrders = new SentOrders();
  const confirmation: TxConfirmationDeps = {
    clock,
    cancelDelayMs: TIERS[deps.tier].cancelDelayMs,
    readTx: (hash, call) => rest.tx(hash, call),
  };
  const account = new VenuethreeAccount({ rest, keys, tokens, instruments, sentOrders, clock, clockOffsetMs, logger });
  const publicKeys = createPublicKeyCache();
  return {
    reader: account,
    orders: new VenuethreeOrders({ exchange, sentOrders, listed: deps.instruments, clock, clockOffsetMs }),
    history: new VenuethreeHistory({ account, rest, instruments, clock }),
    settings: new VenuethreeSettings({ rest, keys, exchange, confirmation, budget, clock, clockOffsetMs }),
    rest,
    confirmation,
    tokens,
    instruments,
    openSession: (raw, payer) => {
      const opened = openVenuethreeSession(raw, publicKeys, payer);
      // A caller is about to sign.
      if (opened.ok) {
        filler.fillSoon();
        deps.txSocket?.start();
      }
      return opened;
    },
    accountNames: namesOf(keys),
    openAddress: openVenuethreeAddress,
    addressOf: (session) =>
      session instanceof VenuethreeSession ? (budget?.addressOf(session.accountIndex) ?? null) : null,
    namesAnother: (raw, name) => namesAnother(budget, raw, name),
    resolveKey: (session, options) => keys.resolve(session, options),
    knownKey: (session) => keys.resolveKnown(session),
    stop: () => filler.stop(),
  };
}

/** What transactions are signed and sent by: keys that the venue confirmed, the turns of each, and pairs to sign with. */
function createSigning(
  { ackLatency, chainId, clock, logger, standing, txSocket }: VenuethreeTradingDeps,
  rest: VenuethreeAccountRest,
  budget: TxBudget | null,
): { readonly exchange: VenuethreeExchange; readonly keys: KeyDirectory; readonly pool: NoncePool } {
  const socket = txSocket ?? null;
  const lanes = new KeyLanes({ clock, ...(socket === null ? {} : { way: () => socket.way() }) });
  const keys = new KeyDirectory({
    rest,
    clock,
    standing: standing ?? new CallerStanding(clock),
    onNonce: (accountIndex, apiKeyIndex, nonce, askedNs) =>
      lanes.hint(laneName({ accountIndex, apiKeyIndex }), nonce, askedNs),
  });
  const pool = new NoncePool(POOL_PAIRS);
  const exchange = new VenuethreeExchange({
    rest,
    socket,
    budget,
    keys,
    lanes,
    pool,
    clock,
    logger,
    ackLatency,
    chainId,
  });
  return { exchange, keys, pool };
}

/** Is `name`, an account index or an address, surely not that of the credentials? */
function namesAnother(budget: TxBudget | null, rawCredentials: unknown, name: string): boolean {
  const accountIndex = accountIndexOf(rawCredentials);
  if (accountIndex === null) return false;
  if (/^\d+$/.test(name)) return name !== String(accountIndex);
  const address = budget?.addressOf(accountIndex) ?? null;
  return address !== null && isAddress(name) && name.toLowerCase() !== address;
}

/** The account index that the credentials name, once the venue has confirmed the key for it. */
function namesOf(keys: KeyDirectory): AccountNames {
  const nameOf = (key: Read<ConfirmedKey>): Read<string> =>
    key.ok ? { ...key, value: String(key.value.accountIndex) } : key;
  return {
    known(session) {
      const key = keys.resolveKnown(session);
      return key?.ok === true ? String(key.value.accountIndex) : null;
    },
    read: async (session, options) => nameOf(await keys.resolve(session, options)),
  };
}

/** Fills the pool of signing pairs beside the orders: a little at a time, while it is not full. */
class PoolFiller {
  readonly #clock: Clock;
  readonly #pool: NoncePool;
  #timer: TimerHandle | null = null;
  #isStopped = false;

  constructor(clock: Clock, pool: NoncePool) {
    this.#clock = clock;
    this.#pool = pool;
  }

  fillSoon(): void {
    if (this.#timer !== null || this.#isStopped) return;
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      if (this.#pool.fill(PAIRS_PER_STEP)) this.fillSoon();
    }, STEP_EVERY_MS);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    this.#pool.clear();
  }
}
