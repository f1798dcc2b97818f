/** The local venueone: what differs from the other local venues. `startVenueoneSim` is the way in. */
import { createSeededRandom } from "../../../engine/domain/random.js";
import { seedOf } from "../core/market/factor-model.js";
import type { ListingChange } from "../core/engine/listing-change.js";
import { openPosition } from "../core/engine/starting-position.js";
import type { SimInstrument, SimPolicies } from "../core/model/types.js";
import {
  type RoomTimer,
  type SimRoom,
  startVenueServer,
  VenueCore,
  type VenueServer,
} from "../core/server/venue-server.js";
import { parseWireDecimalE8 } from "./wire/decimals.js";
import { ExchangeApi, fireScheduledCancels } from "./orders/exchange-api.js";
import { Journal } from "./orders/journal.js";
import { keepAccounts } from "./orders/keeper.js";
import { Publisher } from "./market/market-rows.js";
import {
  resolveCadences,
  VENUE_LIMITS,
  type VenueoneAccountOptions,
  type VenueoneAgentOptions,
  type VenueoneSimOptions,
} from "./records/options.js";
import { Protocol, SOCKET_PATH } from "./protocol.js";
import { RequestHandler } from "./router.js";
import { Sessions } from "./socket-session.js";
import { Tpsl } from "./orders/tpsl.js";
import { BridgeDesk } from "./records/bridge-desk.js";
import { Universe } from "./records/universe.js";
import { Venue } from "./records/venue.js";

export type VenueoneSim = VenueServer<VenueoneAccountOptions, void, VenueoneRoom>;

const POLICIES: SimPolicies = {
  reduceOnlyExcess: "clamp",
  postOnlyCross: "reject",
  iocNoMatch: "reject",
  selfTrade: "cancelResting",
  triggerAlreadyMet: "reject",
  // The documentation does not say whether a cloid may be used again while its first order is open: refused here.
  clientIdReuse: "whenClosed",
  takerFeeMilliBps: 4_500,
  makerFeeMilliBps: 1_500,
  defaultLeverage: 20,
};

/** Order ids of the venue no longer fit 32 bits. */
const FIRST_ORDER_ID = 211_341_310_459;
const ADDRESS = /^0x[0-9a-f]{40}$/;
/** Interval at which dead man's switches are checked. */
const SCHEDULE_CHECK_MS = 500;

export function startVenueoneSim(options: VenueoneSimOptions): Promise<VenueoneSim> {
  const universe = new Universe(options.isMainnet ?? true, options.symbols ?? null);
  const core = new VenueCore(options, {
    venue: "venueone",
    instruments: universe.instruments,
    policies: POLICIES,
    firstOrderId: FIRST_ORDER_ID,
  });
  return startVenueServer(core, new VenueoneRoom(core, universe, options), options);
}

class VenueoneRoom implements SimRoom<VenueoneAccountOptions, void> {
  readonly socketPath = SOCKET_PATH;
  readonly protocol: Protocol;
  readonly timers: readonly RoomTimer[];
  readonly commands = {
    chains: async () => {
      const { bridge } = this;
      await bridge?.treasury.poll();
      return bridge?.describe() ?? {};
    },
    mint: (body: Readonly<Record<string, unknown>>) => {
      const { bridge } = this;
      if (bridge === null) throw new RangeError("the venue has no chains");
      return bridge.treasury.faucet.order(body);
    },
    withdrawals: ({ hold }: Readonly<Record<string, unknown>>) => {
      const { bridge } = this;
      bridge?.hold(hold);
      return bridge?.describe() ?? {};
    },
  };
  readonly venue: Venue;
  readonly #sessions: Sessions;
  readonly bridge: BridgeDesk | null;

  constructor({ exchange, log }: VenueCore, universe: Universe, options: VenueoneSimOptions) {
    const venue = new Venue({
      exchange,
      universe,
      isMainnet: options.isMainnet ?? true,
      random: createSeededRandom(seedOf("venueone/room", options.seed)),
      limits: { ...VENUE_LIMITS, ...options.limits },
      cadences: resolveCadences(options),
      log,
    });
    this.venue = venue;
    const { chains } = options;
    const bridge = chains === undefined ? null : new BridgeDesk(venue, chains);
    venue.payouts = bridge;
    this.bridge = bridge;
    const journal = new Journal(exchange);
    const tpsl = new Tpsl(venue);
    journal.addFollower((changes) => tpsl.follow(changes));
    keepAccounts(venue, journal);
    const context = { venue, publisher: new Publisher(exchange), tpsl };
    const handler = new RequestHandler(context, new ExchangeApi({ venue, tpsl, journal }));
    this.#sessions = new Sessions(context, journal, handler);
    this.protocol = new Protocol(handler, this.#sessions);
    const checkSchedules = (): void => {
      fireScheduledCancels(venue);
      journal.commit();
    };
    this.timers = [{ everyMs: SCHEDULE_CHECK_MS, run: checkSchedules }, ...(bridge?.treasury.timers ?? [])];
  }

  addAccount(options: VenueoneAccountOptions): void {
    const { venue } = this;
    const address = options.address.toLowerCase();
    if (!ADDRESS.test(address)) throw new RangeError("an account is a 20-byte hex address");
    const account = venue.openAccount(address, options.deposit, options.spotDeposit ?? "0");
    if (options.volume !== undefined) account.volumeE12 = volumeE12(options.volume);
    approveAgents(venue, address, options.agents ?? []);
    for (const { coin, size, entryPx } of options.positions ?? [])
      openPosition(venue.exchange, address, { symbol: coin, qty: size, entryPrice: entryPx });
  }

  relist(symbol: string, change: ListingChange): SimInstrument {
    return this.venue.universe.change(symbol, change);
  }

  /** `POST /_sim/accounts` takes `agents: [{address, name?, validUntilMs?}]` and `volume` (decimal text) here. */
  registerKeys(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { venue } = this;
    const account = ADDRESS.test(accountId) ? venue.account(accountId) : null;
    if (account === null) throw new RangeError("accountId must be a lower-case 20-byte hex address");
    venue.noteFirstDeposit(account);
    const agents = Array.isArray(body.agents) ? body.agents.map(readAgent) : [];
    approveAgents(venue, accountId, agents);
    if (typeof body.volume === "string") account.volumeE12 = volumeE12(body.volume);
    return { agents: venue.agents.list(accountId, venue.exchange.nowMs()) };
  }

  describe(): Readonly<Record<string, unknown>> {
    const { venue } = this;
    return {
      network: venue.isMainnet ? "Mainnet" : "Testnet",
      sessionCount: this.#sessions.count,
      universe: venue.universe.perps,
      limits: venue.limits,
      cadences: venue.cadences,
    };
  }

  stop(): void {
    this.#sessions.stop();
  }
}

function volumeE12(text: string): bigint {
  return (parseWireDecimalE8(text) ?? 0n) * 10_000n;
}

function approveAgents(venue: Venue, accountId: string, agents: readonly VenueoneAgentOptions[]): void {
  for (const agent of agents) {
    const validUntil = agent.validUntilMs === undefined ? "" : ` valid_until ${agent.validUntilMs}`;
    const refusal = venue.agents.approve({
      accountId,
      agentAddress: agent.address.toLowerCase(),
      agentName: `${agent.name ?? ""}${validUntil}`,
      subAccountCount: 0,
      nowMs: venue.exchange.nowMs(),
    });
    if (refusal !== null) throw new RangeError(`agent refused: ${refusal.kind}`);
  }
}

function readAgent(value: unknown): VenueoneAgentOptions {
  const record = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const { address, name, validUntilMs } = record;
  if (typeof address !== "string" || !ADDRESS.test(address.toLowerCase()))
    throw new RangeError("an agent needs an address");
  return {
    address,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof validUntilMs === "number" ? { validUntilMs } : {}),
  };
}
