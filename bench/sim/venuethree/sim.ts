/** The local venuethree: what differs from the other local venues. `startVenuethreeSim` is the way in. */
import { createSeededRandom } from "../../../engine/domain/random.js";
import { seedOf } from "../core/market/factor-model.js";
import type { ListingChange } from "../core/engine/listing-change.js";
import { withKnown } from "../core/server/settings.js";
import type { SimListener } from "../core/model/listeners.js";
import type { SimInstrument } from "../core/model/types.js";
import {
  type RoomTimer,
  type SimRoom,
  startVenueServer,
  VenueCore,
  type VenueServer,
} from "../core/server/venue-server.js";
import { AccountSide } from "./account/account-side.js";
import { ApiServers, seqOfNonce } from "./market/api-servers.js";
import type { VenuethreeContext } from "./orders/context.js";
import { RestingIdentities, tradeKey } from "./wire/ids.js";
import { DEFAULT_SYMBOLS, Listing, VENUETHREE_POLICIES } from "./records/listing.js";
import {
  changeQuirks,
  DEFAULT_QUIRKS,
  VENUE_CADENCES,
  VENUE_LIMITS,
  type VenuethreeAccount,
  type VenuethreeQuirks,
  type VenuethreeSimOptions,
} from "./records/options.js";
import { Protocol, SOCKET_PATH } from "./protocol.js";
import { Router } from "./router.js";
import { Sessions } from "./socket-session.js";

export type VenuethreeSim = VenueServer<VenuethreeAccount, void, VenuethreeRoom>;

/** Ids that look like the venue's. The nonce counts over all markets and jumps between the changes of one. */
const FIRST_NONCE = 18_032_000_000;
const NONCE_JUMP_MAX = 12;
const FIRST_ORDER_ID = 1_000_000;
const API_SERVERS = 3;
const SWEEP_MS = 1_000;
/** The main net. */
const CHAIN_ID = 304;
const LIQUIDATIONS_MAX = 10_000;

export function startVenuethreeSim(options: VenuethreeSimOptions): Promise<VenuethreeSim> {
  const listing = new Listing(options.symbols ?? DEFAULT_SYMBOLS, options.listsOthers);
  const core = new VenueCore(options, {
    venue: "venuethree",
    instruments: listing.instruments,
    policies: VENUETHREE_POLICIES,
    seqJumpMax: NONCE_JUMP_MAX,
    firstSeq: FIRST_NONCE,
    firstOrderId: FIRST_ORDER_ID,
  });
  return startVenueServer(core, new VenuethreeRoom(core, listing, options), options);
}

class VenuethreeRoom implements SimRoom<VenuethreeAccount, void> {
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
  readonly #context: VenuethreeContext;
  readonly #accountSide: AccountSide;
  readonly #servers: ApiServers;
  readonly #liquidations = new Set<string>();
  #pulses = 0;

  constructor({ clock, exchange, faults, log }: VenueCore, listing: Listing, options: VenuethreeSimOptions) {
    const random = createSeededRandom(seedOf("venuethree/room", options.seed));
    const chainId = options.chainId ?? CHAIN_ID;
    const accountSide = new AccountSide({ exchange, listing, log, chainId, context: () => this.#context });
    this.#accountSide = accountSide;
    const context: VenuethreeContext = {
      ...accountSide.shared,
      exchange,
      listing,
      cadences: { ...VENUE_CADENCES, ...options.cadences },
      resting: new RestingIdentities(),
      liquidations: this.#liquidations,
      limits: { ...VENUE_LIMITS, ...options.limits },
      quirks: { ...DEFAULT_QUIRKS, ...options.quirks },
    };
    this.#context = context;
    const servers = new ApiServers(context, random, options.apiServerCount ?? API_SERVERS);
    this.#servers = servers;
    const sessions = new Sessions({
      context,
      faults,
      random,
      accountStreams: accountSide.streams,
      nowMs: () => clock.wallMs(),
      nextServer: () => servers.forConnection(),
    });
    this.protocol = new Protocol({ router: new Router(context), sessions, servers });
    this.timers = [
      { everyMs: context.cadences.pulseMs, run: () => this.#pulse() },
      { everyMs: SWEEP_MS, run: () => sessions.sweep() },
    ];
    exchange.addListener(this.#listener());
  }

  get quirks(): VenuethreeQuirks {
    return this.#context.quirks;
  }

  setQuirks(changes: Readonly<Record<string, unknown>>): void {
    this.#context.quirks = changeQuirks(this.#context.quirks, changes);
  }

  /**
   * Change id of the engine behind a nonce on the wire: `exchange.market.trueBook(symbol, seqOfNonce(nonce))` is the true book.
   * The same number, unless `resetNonceOnConnect` has been on.
   */
  seqOfNonce(nonce: number): number {
    return seqOfNonce(nonce, FIRST_NONCE);
  }

  addAccount(account: VenuethreeAccount): void {
    this.#accountSide.add(account);
  }

  relist(symbol: string, change: ListingChange): SimInstrument {
    return this.#context.listing.change(symbol, change);
  }

  registerKeys(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return this.#accountSide.register(accountId, body);
  }

  describe(): Readonly<Record<string, unknown>> {
    return { limits: this.#context.limits, quirks: this.#context.quirks };
  }

  stop(): void {
    this.#accountSide.stop();
  }

  #listener(): SimListener {
    const { events } = this.#accountSide;
    return {
      onLevel: (...change) => {
        for (const server of this.#servers.all()) server.onLevel(...change);
      },
      onTrade: (trade) => {
        events.onTrade(trade);
        for (const server of this.#servers.all()) server.onTrade(trade);
      },
      onOrder: (order, event, fill) => {
        if (fill?.liquidation === true) this.#rememberLiquidation(tradeKey(fill.symbol, fill.tradeId));
        events.onOrder(order, event, fill);
      },
      onAccount: (account, cause, positions) => events.onAccount(account, cause, positions),
      onFunding: (income) => events.onFunding(income),
      onStep: (tsMs) => events.onStep(tsMs),
    };
  }

  #pulse(): void {
    const { statsMs, pulseMs } = this.#context.cadences;
    for (const server of this.#servers.all()) server.onPulse();
    this.#pulses++;
    if (this.#pulses % Math.max(1, Math.round(statsMs / pulseMs)) === 0) this.#accountSide.streams.pushStats();
  }

  #rememberLiquidation(key: string): void {
    this.#liquidations.add(key);
    if (this.#liquidations.size <= LIQUIDATIONS_MAX) return;
    const oldest = this.#liquidations.values().next();
    if (oldest.done === false) this.#liquidations.delete(oldest.value);
  }
}
