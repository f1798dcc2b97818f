/** The local venuetwo: what differs from the other local venues. `startVenuetwoSim` is the way in. */
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { seedOf } from "../core/market/factor-model.js";
import type { ListingChange } from "../core/engine/listing-change.js";
import { loadRecordedMarket, type RecordedMarket } from "../core/engine/recorded.js";
import type { SimSocket } from "../core/server/server-types.js";
import { withKnown } from "../core/server/settings.js";
import { openPosition } from "../core/engine/starting-position.js";
import type { SimExchange } from "../core/engine/exchange.js";
import type { SimListener } from "../core/model/listeners.js";
import type { SimInstrument } from "../core/model/types.js";
import {
  type RoomTimer,
  type SimRoom,
  startVenueServer,
  VenueCore,
  type VenueServer,
} from "../core/server/venue-server.js";
import { WebDesk } from "./account/web-routes.js";
import { AggregateTape } from "./records/aggregate-tape.js";
import { Authenticator } from "./records/auth.js";
import type { VenuetwoContext } from "./records/context.js";
import { KeyRing, type KeyRequest } from "./records/keys.js";
import { RateLimits, VENUE_LIMITS } from "./records/limits.js";
import { DEFAULT_SYMBOLS, Listing, VENUETWO_POLICIES } from "./records/listing.js";
import { ListenKeys } from "./records/listen-keys.js";
import { MoneyDesk } from "./records/money-desk.js";
import { MarketStreams, TICK_MS } from "./market/market-streams.js";
import type { VenuetwoAccount, VenuetwoSimOptions } from "./records/options.js";
import { Protocol } from "./protocol.js";
import { Router } from "./router.js";
import { sweepSessions } from "./socket-session.js";
import { Topics } from "./records/topics.js";
import { UserStreams } from "./account/user-streams.js";

export type VenuetwoSim = VenueServer<VenuetwoAccount, VenuetwoKeys, VenuetwoRoom>;

interface VenuetwoKeys {
  readonly apiKey: string;
  readonly apiSecret: string;
}

/** Windows of the venue: fact sheet 4.2 and 6.1. */
const NONCE_WINDOW_MS = 10_000;
const MAIN_CHAIN_ID = 1666;
const ADDRESS = /^0x[0-9a-f]{40}$/;
const SWEEP_MS = 10_000;
const SOCKET_LIFE_MS = 24 * 3600 * 1000;
/** Ids that look like the venue's: 11 digits for orders, 12 for updates. */
const FIRST_ORDER_ID = 17_338_000_000;
const FIRST_UPDATE_ID = 156_391_000_000;
const UPDATE_JUMP_MAX = 900;

export async function startVenuetwoSim(options: VenuetwoSimOptions): Promise<VenuetwoSim> {
  const listing = new Listing(options.symbols ?? DEFAULT_SYMBOLS, options.copyCount ?? 0, options.listsOthers);
  const { instruments } = listing;
  const recording =
    options.recording === undefined ? null : await loadRecordedMarket({ instruments, ...options.recording });
  const core = new VenueCore(
    recording === null ? options : { ...options, flow: null, priceSource: recording.priceSource },
    {
      venue: "venuetwo",
      instruments,
      policies: VENUETWO_POLICIES,
      seqJumpMax: UPDATE_JUMP_MAX,
      firstSeq: FIRST_UPDATE_ID,
      firstOrderId: FIRST_ORDER_ID,
    },
  );
  return startVenueServer(core, new VenuetwoRoom(core, listing, recording, options), options);
}

class VenuetwoRoom implements SimRoom<VenuetwoAccount, VenuetwoKeys> {
  /** Clients add `/ws` or `/stream`. */
  readonly socketPath = "";
  readonly protocol: Protocol;
  readonly timers: readonly RoomTimer[];
  readonly commands = {
    expireListenKeys: () => {
      this.expireListenKeys();
      return { ok: true };
    },
    keyCreation: ({ isClosed }: Readonly<Record<string, unknown>>) => {
      this.#web.isCreationClosed = isClosed === true;
      return { isClosed: this.#web.isCreationClosed };
    },
    chains: async () => {
      await this.money.treasury?.poll();
      return this.money.describe();
    },
    mint: (body: Readonly<Record<string, unknown>>) => {
      const { treasury } = this.money;
      if (treasury === null) throw new RangeError("the venue has no chains");
      return treasury.faucet.order(body);
    },
    withdrawals: (body: Readonly<Record<string, unknown>>) => {
      this.money.change(body);
      return this.money.describe();
    },
    limits: (body: Readonly<Record<string, unknown>>) => {
      this.#limits.options = withKnown(this.#limits.options, body, VENUE_LIMITS);
      return { limits: this.#limits.options };
    },
  };
  readonly keys = new KeyRing();
  readonly money: MoneyDesk;
  readonly #exchange: SimExchange;
  readonly #listing: Listing;
  readonly #recording: RecordedMarket | null;
  readonly #limits: RateLimits;
  readonly #user: UserStreams;
  readonly #web: WebDesk;

  constructor(
    { clock, exchange, faults, log }: VenueCore,
    listing: Listing,
    recording: RecordedMarket | null,
    options: VenuetwoSimOptions,
  ) {
    this.#exchange = exchange;
    this.#listing = listing;
    this.#recording = recording;
    const nowMs = (): number => exchange.nowMs();
    const limits = new RateLimits({ ...VENUE_LIMITS, ...options.limits }, nowMs);
    this.#limits = limits;
    const random = createSeededRandom(seedOf("venuetwo/ids", options.seed));
    const listenKeys = new ListenKeys(random, nowMs);
    const aggregates = new Map(listing.instruments.map(({ symbol }) => [symbol, new AggregateTape()]));
    const topics = new Topics();
    const market = new MarketStreams(exchange, topics, aggregates);
    const user = new UserStreams(exchange, topics, listenKeys);
    this.#user = user;
    const { keys } = this;
    const money = new MoneyDesk({ exchange, keys, chains: options.chains });
    this.money = money;
    const context: VenuetwoContext = {
      exchange,
      listing,
      log,
      faults,
      keys,
      auth: authenticator(keys, nowMs, options),
      limits,
      listenKeys,
      money,
      aggregates,
      newClientId: () => `${letters(random)}${letters(random)}${letters(random)}`,
    };
    this.#web = new WebDesk(context);
    const router = new Router(context, this.#web);
    // Connections live by the machine's clock: a skewed venue clock must not end them.
    const session = { topics, nowMs: () => clock.wallMs(), onWanted: (name: string) => market.onWanted(name) };
    this.protocol = new Protocol({ router, session, nowMs });
    const lifeMs = options.socketLifeMs ?? SOCKET_LIFE_MS;
    this.timers = [
      { everyMs: TICK_MS, run: () => market.onTick() },
      { everyMs: SWEEP_MS, run: (sockets) => this.#sweep(sockets, clock.wallMs(), lifeMs) },
      ...(money.treasury?.timers ?? []),
    ];
    exchange.addListener(listener(market, user, aggregates));
  }

  addAccount(account: VenuetwoAccount): VenuetwoKeys {
    const { accountId, deposit, spotDeposit, hedgeMode } = account;
    this.#exchange.desk.createAccount({
      accountId,
      deposit,
      ...(spotDeposit === undefined ? {} : { spotDeposit }),
      ...(hedgeMode === undefined ? {} : { hedgeMode }),
    });
    for (const position of account.positions ?? []) openPosition(this.#exchange, accountId, position);
    return this.keys.register(accountId, account);
  }

  /** Ends every listen key now, as an hour without PUT would. */
  expireListenKeys(): void {
    this.#user.expireKeys(true);
  }

  relist(symbol: string, change: ListingChange): SimInstrument {
    return this.#listing.change(symbol, change);
  }

  registerKeys(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    // An account named by its wallet is that wallet's, as registrations name them.
    const wallet = ADDRESS.test(accountId) ? { wallet: accountId } : {};
    return this.keys.register(accountId, { ...wallet, ...keyRequest(body) });
  }

  describe(): Readonly<Record<string, unknown>> {
    return { limits: this.#limits.options };
  }

  start(): void {
    this.#recording?.play(this.#exchange);
  }

  stop(): void {
    this.#recording?.stop();
  }

  #sweep(sockets: ReadonlySet<SimSocket>, nowMs: number, lifeMs: number): void {
    this.#user.expireKeys();
    sweepSessions(sockets, nowMs, lifeMs);
  }
}

function authenticator(keys: KeyRing, nowMs: () => number, options: VenuetwoSimOptions): Authenticator {
  return new Authenticator({
    keys,
    nowMs,
    nonceWindowMs: options.nonceWindowMs ?? NONCE_WINDOW_MS,
    chainId: options.chainId ?? MAIN_CHAIN_ID,
    hmacOnV3: options.hmacOnV3 ?? false,
  });
}

function listener(
  market: MarketStreams,
  user: UserStreams,
  aggregates: ReadonlyMap<string, AggregateTape>,
): SimListener {
  return {
    onLevel: (...change) => market.onLevel(...change),
    onTrade: (trade) => aggregates.get(trade.symbol)?.add(trade),
    onOrder: (order, event, fill) => {
      user.onOrder(order, event, fill);
      if (fill?.liquidation === true) market.onLiquidation(order, fill);
    },
    onAccount: (account, cause, positions) => user.onAccount(account, cause, positions),
    onConfig: (account, change) => user.onConfig(account, change),
  };
}

/** Seven base-36 characters; three of them make an id like the venue's own. */
function letters(random: Random): string {
  return Math.floor(random.next() * 36 ** 7)
    .toString(36)
    .padStart(7, "0");
}

/** Keys of POST /_sim/accounts: texts and a list of addresses; everything else is ignored. */
function keyRequest(body: Readonly<Record<string, unknown>>): KeyRequest {
  const { apiKey, apiSecret, wallet, agents } = body;
  return {
    ...(typeof apiKey === "string" ? { apiKey } : {}),
    ...(typeof apiSecret === "string" ? { apiSecret } : {}),
    ...(typeof wallet === "string" ? { wallet } : {}),
    ...(Array.isArray(agents) ? { agents: agents.map(String) } : {}),
  };
}
