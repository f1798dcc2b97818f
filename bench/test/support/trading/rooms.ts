/** Each venue's whole room against its local venue over real sockets, with two accounts that trade: for account streams. */
import { onTestFinished } from "vitest";
import { type Clock, createSystemClock } from "../../../../engine/domain/clock.js";
import type { Instrument } from "../../../../engine/domain/instrument.js";
import { silentLogger } from "../../../../engine/domain/logger.js";
import type { OrderCommand, VenueOrder } from "../../../../engine/domain/order.js";
import { createSeededRandom } from "../../../../engine/domain/random.js";
import type { RoutableVenue } from "../../../../engine/domain/venue.js";
import type { AccountSession, VenueRoom } from "../../../../engine/ports.js";
import { createMemoryReservations } from "../../../../feeds/shared/test/memory-reservations.js";
import { createVenuefourRoom } from "../../../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../../../feeds/venueone/room.js";
import { createVenuethreeRoom } from "../../../../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../../../../feeds/venuetwo/room.js";
import { startVenuefourSim } from "../../../sim/venuefour/sim.js";
import { startVenueoneSim } from "../../../sim/venueone/sim.js";
import * as one from "../../../sim/venueone/test/kit.js";
import { startVenuethreeSim } from "../../../sim/venuethree/sim.js";
import * as two from "../../../sim/venuetwo/test/support.js";
import { commandOf, open, PATIENT, watch, wholeTicks, type Watching } from "../trading-half.js";
import type { TradingSim } from "./bench.js";
import * as three from "./venuethree.js";
import * as four from "./venuefour.js";

interface Side {
  readonly sim: TradingSim;
  readonly room: VenueRoom;
  readonly accountId: string;
  readonly credentials: unknown;
  readonly otherAccountId: string;
  readonly otherCredentials: unknown;
  /** Credentials that name the account and are not its own; null where anyone may watch a known account. */
  readonly wrongCredentials: unknown;
  /** A subscription whose loss the venue's silence would hide; null where the venue has none. */
  readonly subscription: string | null;
}

export interface RoomOptions {
  /** Nobody but the two accounts trades: every fill is theirs. */
  readonly isQuiet?: boolean;
  /** BTC that the first account holds at the start, signed decimal text; of venuethree only. */
  readonly heldOnVenuethree?: string;
}

const DEPOSIT = "20000";
/** Size of an order, in base units, that fits every venue's rules. */
const SIZE = 0.01;

export class RoomBench {
  readonly sim: TradingSim;
  readonly room: VenueRoom;
  readonly btc: Instrument;
  readonly lots: number;
  readonly accountId: string;
  readonly session: AccountSession;
  readonly other: AccountSession;
  readonly side: Side;

  constructor(side: Side) {
    const btc = side.room.markets.get("BTC")?.instrument;
    if (btc === undefined) throw new Error("BTC is not listed");
    this.side = side;
    this.btc = btc;
    this.sim = side.sim;
    this.room = side.room;
    this.accountId = side.accountId;
    this.session = open(side.room, side.credentials);
    this.other = open(side.room, side.otherCredentials);
    this.lots = Math.round(SIZE * 10 ** btc.qtyDecimals);
  }

  /** Returns a multiple of the mark, in whole units of the quote. */
  ticks(factor: number): number {
    return wholeTicks(this.btc, (this.sim.exchange.market.mark(this.btc.nativeSymbol).markE8 / 1e8) * factor);
  }

  /** Returns a price of ours on the local venue's own scale. */
  simTicks(ticks: number): number {
    const { priceDecimals } = this.sim.exchange.instruments.get(this.btc.nativeSymbol) ?? this.btc;
    return ticks * 10 ** (priceDecimals - this.btc.priceDecimals);
  }

  watch(session = this.session): Promise<Watching> {
    return watch(this.room, session);
  }

  /** Places an order, which must be accepted. Returns the venue's answer. */
  async place(changes: Partial<OrderCommand>, session = this.session): Promise<VenueOrder> {
    const command = commandOf(this.btc, { qtyLots: this.lots, ...changes });
    const outcome = await this.room.orders.place(session, command, PATIENT);
    if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
    return outcome.order;
  }

  buy(changes: Partial<OrderCommand> = {}): Promise<VenueOrder> {
    return this.place({ priceTicks: this.ticks(1.015), ...changes });
  }

  /** Places a bid that rests a little below the mark. */
  bid(changes: Partial<OrderCommand> = {}): Promise<VenueOrder> {
    return this.place({ type: "LIMIT", timeInForce: "GTC", priceTicks: this.ticks(0.985), ...changes });
  }

  /** Makes the other account sell into the bid. */
  async hit({ priceTicks }: VenueOrder, qtyLots: number): Promise<void> {
    await this.place({ side: "SELL", qtyLots, priceTicks }, this.other);
  }

  /** Cuts every connection. */
  async cut(): Promise<void> {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${this.sim.restUrl}/_sim/disconnect`, { method: "POST", headers, body: "{}" });
    if (answer.status !== 200) throw new Error(`not cut: ${answer.status}`);
  }
}

/** Starts the room's bench of this test; it stops when the test has finished. */
export async function startRoom(venue: RoutableVenue, options: RoomOptions = {}): Promise<RoomBench> {
  const side = await STARTS[venue](options);
  stopAfterTest(side.room, side.sim);
  await side.room.start();
  return new RoomBench(side);
}

/** Stops the room, then its local venue, when this test has finished. */
export function stopAfterTest(room: Pick<VenueRoom, "stop">, sim: Pick<TradingSim, "stop">): void {
  onTestFinished(async () => {
    await room.stop();
    await sim.stop();
  });
}

/** Returns the options that every room of a local venue shares; a test adds its limits. */
export function roomOptions({ restUrl, wsUrl }: LocalVenue, clock: Clock = createSystemClock()) {
  return {
    restUrl,
    wsUrl,
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    isMainnet: true,
    symbols: ["BTC"],
  };
}

interface LocalVenue {
  readonly restUrl: string;
  readonly wsUrl: string;
}

const STARTS: Readonly<Record<RoutableVenue, (options: RoomOptions) => Promise<Side>>> = {
  venueone: startVenueone,
  venuetwo: startVenuetwo,
  venuethree: startVenuethree,
  venuefour: startVenuefour,
};

async function startVenueone({ isQuiet = false }: RoomOptions): Promise<Side> {
  const sim = await startVenueoneSim({
    seed: 7,
    symbols: ["BTC"],
    cadenceScale: 0.05,
    accounts: [
      { address: one.ALICE, deposit: DEPOSIT },
      { address: one.BOB, deposit: DEPOSIT },
    ],
    limits: { ipWeightPerMinute: 1_000_000 },
    ...(isQuiet ? { flow: null } : {}),
  });
  const limits = { restWeightPerMinute: 1_000_000 };
  return {
    sim,
    room: createVenueoneRoom({ ...roomOptions(sim), limits }),
    accountId: one.ALICE,
    credentials: { privateKey: one.KEYS.alice },
    otherAccountId: one.BOB,
    otherCredentials: { privateKey: one.KEYS.bob },
    wrongCredentials: { privateKey: one.KEYS.stranger },
    subscription: null,
  };
}

async function startVenuetwo({ isQuiet = false }: RoomOptions): Promise<Side> {
  const sim = await two.startTestVenue({
    symbols: ["BTCUSDT"],
    limits: { weightPerMinute: 1_000_000 },
    ...(isQuiet ? { flow: null } : {}),
  });
  const walletAddress = `0x${"0b".repeat(20)}`;
  const { apiKey, apiSecret } = sim.addAccount({ accountId: "other", deposit: DEPOSIT, wallet: walletAddress });
  const limits = { weightPerMinute: 1_000_000 };
  const own = { apiKey: two.agentWallet.address, apiSecret: two.AGENT_KEY, walletAddress: two.mainWallet.address };
  return {
    sim,
    room: createVenuetwoRoom({ ...roomOptions(sim), limits }),
    accountId: two.ACCOUNT,
    credentials: own,
    otherAccountId: "other",
    otherCredentials: { apiKey, apiSecret, walletAddress },
    wrongCredentials: { apiKey: two.API_KEY, apiSecret: "wrong", walletAddress: two.mainWallet.address },
    subscription: null,
  };
}

async function startVenuethree({ isQuiet = false, heldOnVenuethree }: RoomOptions): Promise<Side> {
  const { ALICE, BIG_BOB, KEYS, L1_ALICE, L1_BOB } = three;
  const account = (accountIndex: number, l1Address: string, privateKey: string) => ({
    accountIndex,
    l1Address,
    deposit: DEPOSIT,
    apiKeys: [{ apiKeyIndex: 4, publicKey: three.publicKeyHex(privateKey) }],
  });
  const held = heldOnVenuethree === undefined ? [] : [{ symbol: "BTC", size: heldOnVenuethree }];
  const sim = await startVenuethreeSim({
    seed: 11,
    symbols: ["BTC"],
    accounts: [{ ...account(ALICE, L1_ALICE, KEYS.alice), positions: held }, account(BIG_BOB, L1_BOB, KEYS.bob)],
    limits: {
      readsPerMinute: 1_000_000,
      transactionsPerMinute: 1_000_000,
      otherTransactionsPerMinute: 1_000_000,
      messagesPerMinute: 10_000,
      takerDelayMs: 20,
      makerDelayMs: 10,
    },
    ...(isQuiet ? { flow: null } : {}),
  });
  const room = createVenuethreeRoom({
    ...roomOptions(sim),
    limits: { restPerMinute: 1_000_000, messagesPerMinute: 10_000, connectsPerMinute: 1_000 },
  });
  return {
    sim,
    room,
    accountId: String(ALICE),
    credentials: { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE },
    otherAccountId: String(BIG_BOB),
    otherCredentials: { apiKeyPrivateKey: KEYS.bob, accountIndex: String(BIG_BOB) },
    wrongCredentials: { apiKeyPrivateKey: KEYS.bob, accountIndex: ALICE },
    subscription: "account_all_trades",
  };
}

async function startVenuefour({ isQuiet = false }: RoomOptions): Promise<Side> {
  const sim = await startVenuefourSim({
    seed: 9,
    symbols: ["BTC"],
    flow: isQuiet ? null : { levelCount: 60, tradesPerSecond: 5 },
    limits: { creditsPerMinute: 1_000_000 },
    cadences: { speedBumpMs: 5 },
    accounts: [{ walletAddress: four.WALLET.publicKey, agents: [four.AGENT.publicKey], deposit: DEPOSIT }],
  });
  const { apiKey, apiSecret, walletAddress } = sim.addAccount({ accountId: "other", deposit: DEPOSIT });
  const limits = { creditsPerMinute: 1_000_000 };
  return {
    sim,
    room: createVenuefourRoom({ ...roomOptions(sim), limits }),
    accountId: four.WALLET.publicKey,
    credentials: four.VENUEFOUR.credentials,
    otherAccountId: "other",
    otherCredentials: { apiKey, apiSecret, walletAddress },
    wrongCredentials: null,
    subscription: "account_trades",
  };
}
