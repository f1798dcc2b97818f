/** The local venuefour: what differs from the other local venues. `startVenuefourSim` is the way in. */
import { createSeededRandom } from "../../../engine/domain/random.js";
import { seedOf } from "../core/market/factor-model.js";
import type { ListingChange } from "../core/engine/listing-change.js";
import { withKnown } from "../core/server/settings.js";
import { openPosition } from "../core/engine/starting-position.js";
import type { SimInstrument } from "../core/model/types.js";
import {
  type RoomTimer,
  type SimRoom,
  startVenueServer,
  VenueCore,
  type VenueServer,
} from "../core/server/venue-server.js";
import { AccountJournal } from "./orders/account-journal.js";
import { AccountStreams } from "./account/account-streams.js";
import { Actions } from "./orders/actions.js";
import type { VenuefourContext } from "./orders/context.js";
import { Credits } from "./records/credits.js";
import { KeyRing, type KeyRequest, type RegisteredKeys } from "./records/keys.js";
import { DEFAULT_SYMBOLS, Listing, VENUEFOUR_POLICIES } from "./records/listing.js";
import { MarketStreams } from "./market/market-streams.js";
import {
  changeQuirks,
  DEFAULT_QUIRKS,
  VENUE_CADENCES,
  VENUE_LIMITS,
  type VenuefourAccount,
  type VenuefourQuirks,
  type VenuefourSimOptions,
} from "./wire/options.js";
import { Protocol, SOCKET_PATH } from "./protocol.js";
import { Publisher } from "./market/publisher.js";
import { Router } from "./router.js";
import { Sessions } from "./socket-session.js";
import { SocketTrading } from "./orders/socket-trading.js";

export type VenuefourSim = VenueServer<VenuefourAccount, RegisteredKeys, VenuefourRoom>;

/** Of the capture: one counter of events over all markets; order ids are taken from it. */
const FIRST_EVENT_ID = 336_536_000;
const SWEEP_MS = 1_000;

export function startVenuefourSim(options: VenuefourSimOptions): Promise<VenuefourSim> {
  const listing = new Listing(options.symbols ?? DEFAULT_SYMBOLS);
  const core = new VenueCore(options, {
    venue: "venuefour",
    instruments: listing.instruments,
    policies: VENUEFOUR_POLICIES,
    firstSeq: FIRST_EVENT_ID,
    orderIdsFromSeq: true,
  });
  return startVenueServer(core, new VenuefourRoom(core, listing, options), options);
}

class VenuefourRoom implements SimRoom<VenuefourAccount, RegisteredKeys> {
  readonly socketPath = SOCKET_PATH;
  readonly protocol: Protocol;
  readonly timers: readonly RoomTimer[];
  readonly commands = {
    quirks: (body: Readonly<Record<string, unknown>>) => {
      this.setQuirks(body);
      return { quirks: this.quirks };
    },
    limits: (body: Readonly<Record<string, unknown>>) => {
      this.#context.limits = withKnown(this.#context.limits, body, VENUE_LIMITS);
      return { limits: this.#context.limits };
    },
  };
  readonly keys: KeyRing;
  readonly #context: VenuefourContext;
  readonly #streams: MarketStreams;
  readonly #accounts: AccountStreams;
  readonly #actions: Actions;

  constructor({ clock, exchange, faults, log }: VenueCore, listing: Listing, options: VenuefourSimOptions) {
    this.keys = new KeyRing(options.seed);
    const random = createSeededRandom(seedOf("venuefour/room", options.seed));
    const context: VenuefourContext = {
      exchange,
      listing,
      publisher: new Publisher(exchange, random, () => context.quirks.oldBookIdShare),
      cadences: { ...VENUE_CADENCES, ...options.cadences },
      random,
      keys: this.keys,
      log,
      journal: new AccountJournal(exchange, (accountId) => this.keys.walletOf(accountId) ?? accountId),
      limits: { ...VENUE_LIMITS, ...options.limits },
      quirks: { ...DEFAULT_QUIRKS, ...options.quirks },
    };
    this.#context = context;
    const streams = new MarketStreams(context);
    this.#streams = streams;
    const accounts = new AccountStreams(context, clock);
    this.#accounts = accounts;
    // The engine calls its listeners within its calls; the streams publish when a call has returned.
    const actions = new Actions({ context, clock, onDone: () => this.#settle() });
    this.#actions = actions;
    const credits = new Credits((configKey) => this.keys.walletOfConfigKey(configKey));
    const nowMs = (): number => clock.wallMs();
    const trading = new SocketTrading({ context, actions, credits, flush: () => accounts.flush(), nowMs });
    const sessions = new Sessions({ context, streams, accounts, trading, faults, nowMs });
    this.protocol = new Protocol({ router: new Router({ context, actions, credits }), sessions, accounts });
    this.timers = [
      { everyMs: context.cadences.pulseMs, run: () => this.#pulse() },
      { everyMs: SWEEP_MS, run: () => sessions.sweep() },
    ];
    exchange.addListener({ onTrade: (trade) => streams.onTrade(trade, exchange.market.engineSeq()) });
  }

  get quirks(): VenuefourQuirks {
    return this.#context.quirks;
  }

  setQuirks(changes: Readonly<Record<string, unknown>>): void {
    this.#context.quirks = changeQuirks(this.#context.quirks, changes);
  }

  addAccount(account: VenuefourAccount): RegisteredKeys {
    const { exchange } = this.#context;
    const { walletAddress, agents, deposit } = account;
    const accountId = account.accountId ?? walletAddress;
    if (accountId === undefined) throw new RangeError("an account needs a wallet address or an id");
    exchange.desk.createAccount({ accountId, deposit });
    const keys = this.keys.register(accountId, {
      ...(walletAddress === undefined ? {} : { walletAddress }),
      ...(agents === undefined ? {} : { agents }),
    });
    for (const position of account.positions ?? []) openPosition(exchange, accountId, position);
    return keys;
  }

  relist(symbol: string, change: ListingChange): SimInstrument {
    return this.#context.listing.change(symbol, change);
  }

  registerKeys(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return { ...this.keys.register(accountId, keyRequest(body)) };
  }

  describe(): Readonly<Record<string, unknown>> {
    return { limits: this.#context.limits, quirks: this.#context.quirks };
  }

  #pulse(): void {
    this.#streams.onPulse();
    this.#settle();
    this.#accounts.flush();
    this.#accounts.onPulse();
  }

  /** What the venue does beside the engine: children of filled orders, protection of closed positions. */
  #settle(): void {
    const { exchange, journal } = this.#context;
    journal.settled();
    this.#actions.desk.triggers.settle();
    for (const { accountId } of exchange.accounts.all()) this.#actions.desk.triggers.dropProtection(accountId);
  }
}

/** Keys of POST /_sim/accounts: an address and a list of agents; everything else is ignored. */
function keyRequest(body: Readonly<Record<string, unknown>>): KeyRequest {
  const { walletAddress, agents } = body;
  return {
    ...(typeof walletAddress === "string" ? { walletAddress } : {}),
    ...(Array.isArray(agents) ? { agents: agents.map(String) } : {}),
  };
}
