/**
 * venuethree's budget of transactions, under a judge that reads the venue's log. Two accounts of one first-layer
 * address change their leverage until they are held back, open until they are, then close. The judge must not blame the
 * room as it is. Each planted fault is found by its check, and by nothing once that check is taken out.
 *
 * The four-venue run gives every trader an address of its own and lifts the limits, so it never meets this class.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, SettingOutcome, VenueRoom } from "../../../engine/ports.js";
import { AccountLimiter } from "../../../feeds/shared/net/account-limiter.js";
import { untilSettled } from "../../../feeds/shared/test/http-time.js";
import { countingAs } from "../../../feeds/shared/test/counting-as.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { decodeDetails } from "../../../feeds/venuethree/market/decode-slow.js";
import { TxBudget } from "../../../feeds/venuethree/orders/tx-budget.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { buildInstruments } from "../../../feeds/venuethree/market/symbols.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { commandOf, open as openSession, wholeTicks } from "../support/trading-half.js";

/** While set, the room counts each account by itself, whatever its address. */
const planted = vi.hoisted(() => ({ isIdentity: false }));
vi.mock(import("../../../feeds/shared/net/account-limiter.js"), async (load) => {
  const original = await load();
  type Parameters = ConstructorParameters<typeof original.AccountLimiter>;
  class Limiter extends original.AccountLimiter {
    constructor(...[clock, limits, maxAccounts, countedAs]: Parameters) {
      super(clock, limits, maxAccounts, planted.isIdentity ? undefined : countedAs);
    }
  }
  return { ...original, AccountLimiter: Limiter };
});

const MASTER = 516;
const SUB = 281_474_976_710_000;
const ADDRESS = `0x${"a1".repeat(20)}`;
/** Made for these tests, of no value. */
const KEYS = new Map([MASTER, SUB].map((index, at) => [index, `${at + 1}${at + 1}`.repeat(40)]));
/** 80 % of the venue's 60 a minute, and the exits' part of it: by address, not by account. */
const USED_PER_MINUTE = 48;
const KEPT_FOR_EXITS = 12;
/** Bound for one address; a room that counts each account alone sends more. */
const ENTRIES_MAX = USED_PER_MINUTE - KEPT_FOR_EXITS;
/** The same part of the 40 changes of leverage and the like that the venue takes from an address. */
const CHANGES_MAX = 24;
/** Each change executes before the next request, which reads it. */
const CHANGE_EVERY_MS = 500;
const TIMEOUT_MS = 30_000;

/**
 * SHARE: entries of an address leave the exits' quarter alone. CHANGES: so do changes of its settings, by their own
 * number. CLOSES: closes go through, however much came before. ROUTER: the router sees beforehand what would be held
 * back, and nothing else.
 */
type Check = "SHARE" | "CHANGES" | "CLOSES" | "ROUTER";
type Scene = "entries" | "changes";

let sim: VenuethreeSim | null = null;
let room: VenueRoom | null = null;

afterEach(async () => {
  planted.isIdentity = false;
  vi.restoreAllMocks();
  await room?.stop();
  await sim?.stop();
  [sim, room] = [null, null];
});

interface Sent {
  readonly lane: Lane;
  readonly outcome: PlaceOutcome | SettingOutcome;
  /** The router's answer just before. */
  readonly waitMs: number;
}

interface Played {
  readonly sent: readonly Sent[];
  /** Entries in the venue's log, refused or not. */
  readonly entryCount: number;
  readonly changeCount: number;
}

async function played(scene: Scene): Promise<Played> {
  // The room measures its offset by the Date of the answers, which is the real one.
  const clock = new VirtualClock(Date.now());
  const accounts = [...KEYS].map(([accountIndex, key]) => ({
    accountIndex,
    l1Address: ADDRESS,
    deposit: "1000000",
    positions: [{ symbol: "BTC", size: "1" }],
    apiKeys: [{ apiKeyIndex: 5, publicKey: Buffer.from(publicKeyOf(Buffer.from(key, "hex"))).toString("hex") }],
  }));
  const limits = { readsPerMinute: 1_000_000 };
  const venue = await startVenuethreeSim({ seed: 11, clock, symbols: ["BTC"], accounts, limits });
  sim = venue;
  const answer = await fetch(`${venue.restUrl}/api/v1/orderBookDetails?filter=perp`);
  const markets = decodeDetails(await answer.text())?.markets ?? [];
  const btc = buildInstruments(markets, { makerFeeMilliBps: 0, takerFeeMilliBps: 0 }).bySymbol.get("BTC");
  if (btc === undefined) throw new Error("BTC is not listed");
  // Not started: what trades needs no market data.
  const own = createVenuethreeRoom({
    restUrl: venue.restUrl,
    wsUrl: venue.wsUrl,
    symbols: ["BTC"],
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    limits: { restPerMinute: 1_000_000, sendsPerMinute: USED_PER_MINUTE },
  });
  room = own;
  const sent: Sent[] = [];
  const place = async (session: AccountSession, lane: Lane): Promise<boolean> => {
    const isExit = lane === "exit";
    const mark = venue.exchange.market.mark("BTC").markE8 / 1e8;
    const command = commandOf(btc, {
      ...(isExit ? { side: "SELL" as const } : { type: "LIMIT" as const, timeInForce: "GTC" as const }),
      reduceOnly: isExit,
      priceTicks: wholeTicks(btc, mark * (isExit ? 0.97 : 0.9)),
      qtyLots: 100,
    });
    const waitMs = own.orderWaitMs?.(session, lane) ?? 0;
    const outcome = await own.orders.place(session, command, { timeoutMs: TIMEOUT_MS, lane });
    sent.push({ lane, outcome, waitMs });
    return outcome.outcome === "accepted";
  };
  const change = async (session: AccountSession, leverage: number): Promise<boolean> => {
    const { settings } = own;
    if (settings === undefined) throw new Error("no settings");
    const waitMs = settings.waitMs?.(session, "trade") ?? 0;
    const options = { timeoutMs: TIMEOUT_MS, lane: "trade" as const };
    const outcome = await untilSettled(clock, settings.setLeverage(session, btc, leverage, options));
    sent.push({ lane: "trade", outcome, waitMs });
    clock.advance(CHANGE_EVERY_MS);
    return outcome.outcome === "accepted";
  };
  const sessions = [MASTER, SUB].map((accountIndex) =>
    openSession(own, { apiKeyPrivateKey: KEYS.get(accountIndex), accountIndex }),
  );
  const open = (session: AccountSession, count: number): Promise<boolean> =>
    scene === "entries" ? place(session, "trade") : change(session, 5 + (count % 2));
  // Each account shows its address with its first transaction; until then nobody knows whose budget it shares.
  for (const session of sessions) await open(session, 0);
  for (const session of sessions)
    for (let count = 1; count <= ENTRIES_MAX; count++) if (!(await open(session, count))) break;
  for (let count = 0; count < KEPT_FOR_EXITS; count++)
    await place(sessions[count % sessions.length] as AccountSession, "exit");
  const placed = venue.log.records({ action: "place" });
  return {
    sent,
    entryCount: placed.filter(({ reduceOnly }) => reduceOnly !== true).length,
    changeCount: venue.log.records({ action: "leverage" }).length,
  };
}

function judged({ changeCount, entryCount, sent }: Played, without: readonly Check[] = []): readonly Check[] {
  const isLocal = ({ outcome }: Sent): boolean => outcome.outcome === "rejected" && !outcome.sent;
  const checks: Readonly<Record<Check, boolean>> = {
    SHARE: entryCount <= ENTRIES_MAX,
    CHANGES: changeCount <= CHANGES_MAX,
    CLOSES: sent.every(({ lane, outcome }) => lane !== "exit" || outcome.outcome === "accepted"),
    ROUTER: sent.every((one) => isLocal(one) === one.waitMs > 0),
  };
  return (Object.keys(checks) as Check[]).filter((name) => !checks[name] && !without.includes(name));
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** The check for this fault, then those that see it too. */
  readonly checks: readonly [Check, ...Check[]];
  readonly plant: () => void;
}

const identity = (): void => {
  planted.isIdentity = true;
};
const routerBlind = (): void => void vi.spyOn(AccountLimiter.prototype, "waitMs").mockReturnValue(0);

const MUTANTS: readonly Mutant[] = [
  {
    name: "each account of an address is counted by itself",
    scene: "entries",
    checks: ["SHARE", "CLOSES"],
    plant: identity,
  },
  {
    name: "each account of an address is counted by itself, with what it changes",
    scene: "changes",
    checks: ["CHANGES", "CLOSES"],
    plant: identity,
  },
  {
    name: "entries take what is kept for exits",
    scene: "entries",
    checks: ["SHARE", "CLOSES"],
    plant: () => countingAs(() => "exit"),
  },
  {
    name: "closes wait for the share of entries",
    scene: "entries",
    checks: ["CLOSES"],
    plant: () => countingAs(() => "trade"),
  },
  {
    name: "the router learns nothing of the budget",
    scene: "entries",
    checks: ["ROUTER"],
    plant: routerBlind,
  },
  {
    name: "the router learns nothing of the budget of changes",
    scene: "changes",
    checks: ["ROUTER"],
    plant: routerBlind,
  },
  {
    name: "changes are counted as orders are",
    scene: "changes",
    checks: ["CHANGES", "ROUTER"],
    plant: () => void vi.spyOn(TxBudget.prototype, "takeOther").mockReturnValue(null),
  },
];

describe("the judge of venuethree's budget", () => {
  it.each<[Scene, number, number]>([
    ["entries", ENTRIES_MAX, 0],
    ["changes", 0, CHANGES_MAX],
  ])("has nothing to say of the room as it is, which holds %s back", async (scene, entryCount, changeCount) => {
    const run = await played(scene);
    expect(judged(run)).toEqual([]);
    expect(run).toMatchObject({ entryCount, changeCount });
    expect(run.sent.filter(({ waitMs }) => waitMs > 0).length).toBe(2);
  });

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, plant, scene }) => {
    plant();
    const run = await played(scene);
    expect([...judged(run)].sort()).toEqual([...checks].sort());
    expect(judged(run, checks)).toEqual([]);
  });
});
