/**
 * Three owners and callers without a key, all with credentials of the same accounts, use the order core at random: trades,
 * quotes, single orders, names, Idempotency-Keys, questions, lists and switches, with crashes between. The judge holds each
 * answer against what the caller itself made: nothing of another caller is in it, and what another made is answered as what
 * does not exist. Rules that forget the owner are planted, and each is seen. `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Owners } from "../../domain/owner.js";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { ExecutionRegistry } from "../durable/execution-registry.js";
import { IdempotencyRecords } from "../durable/idempotency.js";
import { QuoteBook } from "../request/quote-book.js";
import type { TradeService } from "../request/service.js";
import { DeadManSwitches } from "../single/dead-man.js";
import { createDesk, CREDENTIALS, orderContext, orderName, type DeskHarness } from "../single/test/desk-harness.js";
import type { PlaceFate } from "./fake-matching.js";
import type { FakeVenue } from "./fake-venue.js";
import { closeContext, closeRequest, createHarness, SECRET_ONE, SECRET_TWO, type Harness } from "./harness.js";

const SEEDS =
  process.env["FUZZ_SEED"] === undefined
    ? Array.from({ length: 12 }, (_, run) => 91_000 + run)
    : [Number(process.env["FUZZ_SEED"])];
const STEPS = 60;
const CALLERS = ["ow_alice", "ow_bob", "ow_carol", null] as const;
const NAMES = ["n0", "n1", "n2"];
const KEYS = ["k0", "k1", "k2"];
const ACCOUNTS = {
  venueone: { account: "acct-venueone", secret: SECRET_ONE },
  venuetwo: { account: "acct-venuetwo", secret: SECRET_TWO },
};

type Caller = (typeof CALLERS)[number];
/** A reference that an answer named, of something that one caller made. */
type Mine = ReadonlySet<string>;

/** References of trades, single orders and switches anywhere in an answer. */
const REFERENCE = /\b(?:rt|or)_[0-9A-Z]{26}\b/g;

function fateOf(random: Random): PlaceFate {
  const draw = random.next();
  if (draw < 0.6) return { kind: "fill" };
  if (draw < 0.75) return { kind: "loseReply" };
  if (draw < 0.85) return { kind: "loseRequest" };
  return { kind: "reject", reason: "VENUE_STATE" };
}

class World {
  readonly problems: string[] = [];
  readonly #random: Random;
  readonly #trades: Harness;
  readonly #desk: DeskHarness;
  #service: TradeService;
  readonly #made = new Map<Caller, Set<string>>(CALLERS.map((caller) => [caller, new Set()]));
  readonly #routeIds: { readonly routeId: string; readonly caller: Caller }[] = [];
  readonly #quotes: { readonly quoteId: string; readonly caller: Caller }[] = [];
  readonly #switches: { readonly switchId: string; readonly caller: Caller }[] = [];
  /** By caller and name: what the venue calls the order that has it. */
  readonly #named = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(random: Random, trades: Harness, desk: DeskHarness) {
    this.#random = random;
    this.#trades = trades;
    this.#desk = desk;
    this.#service = trades.service;
  }

  async step(): Promise<void> {
    const caller = this.#pick(CALLERS);
    const acts = [
      () => this.#trade(caller),
      () => this.#trade(caller),
      () => this.#quote(caller),
      () => this.#useQuote(caller),
      () => this.#ask(caller),
      () => this.#ask(caller),
      () => this.#list(caller),
      () => this.#place(caller),
      () => this.#place(caller),
      () => this.#askOrder(caller),
      () => this.#arm(caller),
      () => this.#beat(caller),
    ];
    await this.#pick(acts)();
    if (this.#random.next() < 0.05) await this.#crash();
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)] as T;
  }

  #mine(caller: Caller): Set<string> {
    return this.#made.get(caller) as Set<string>;
  }

  /** Each reference in it was made by the caller. */
  #judge(what: string, caller: Caller, answer: unknown): void {
    const mine: Mine = this.#mine(caller);
    for (const [reference] of JSON.stringify(answer).matchAll(REFERENCE))
      if (!mine.has(reference)) this.problems.push(`${what}: ${caller ?? "nobody"} sees ${reference}`);
  }

  #same(what: string, caller: Caller, answer: unknown, unknown: unknown): void {
    if (JSON.stringify(answer) !== JSON.stringify(unknown))
      this.problems.push(`${what}: ${caller ?? "nobody"} gets ${JSON.stringify(answer).slice(0, 120)}`);
  }

  /** Nobody of this caller had used the key: neither a replay nor a refusal for another body. */
  #freshKey(
    what: string,
    caller: Caller,
    key: string | null,
    answer: { ok: boolean; replayed: boolean; code?: string },
  ) {
    if (key === null) return;
    const use = `${what} ${caller} ${key}`;
    const isOfKey = answer.replayed || answer.code?.startsWith("IDEMPOTENCY") === true;
    if (isOfKey && !this.#used.has(use)) this.problems.push(`${what}: ${caller ?? "nobody"} finds ${key} in use`);
    this.#used.add(use);
  }

  async #trade(caller: Caller): Promise<void> {
    const idempotencyKey = this.#random.next() < 0.6 ? this.#pick(KEYS) : null;
    const request = closeRequest({
      size: "0.001",
      preferredExchange: this.#pick(["venueone", "venuetwo"] as const),
      clientOrderId: this.#random.next() < 0.5 ? this.#pick(NAMES) : null,
      deadlineMs: 1_000,
    });
    const context = { idempotencyKey, ownerId: caller, rawBody: Buffer.from(JSON.stringify(request)) };
    const answer = await this.#trades.run(this.#service.trade(request, closeContext(this.#trades.clock, context)));
    this.#freshKey("trade", caller, idempotencyKey, answer);
    if (!answer.ok) return;
    const { routeId } = answer.data.routing;
    if (!answer.replayed) {
      this.#mine(caller).add(routeId);
      this.#routeIds.push({ routeId, caller });
    }
    this.#judge("trade", caller, answer);
  }

  async #quote(caller: Caller): Promise<void> {
    const context = closeContext(this.#trades.clock, { ownerId: caller });
    const request = closeRequest({ size: "0.001", dryRun: true, quoteTtlMs: 30_000 });
    const answer = await this.#trades.run(this.#service.trade(request, context));
    const terms = { symbol: "BTC", side: "SELL", size: "0.001", maxSlippageBps: 100, maxQuoteAgeMs: 1e9 } as const;
    const open = { ...terms, quoteTtlMs: 30_000, preferredExchange: null, excludeExchanges: [] };
    const quoted = this.#service.quote(open, caller);
    if (answer.ok && answer.data.quote !== undefined) this.#quotes.push({ quoteId: answer.data.quote.quoteId, caller });
    // What nobody made from books alone is for everybody.
    if (quoted.ok && caller !== null) this.#quotes.push({ quoteId: quoted.quote.quoteId, caller });
  }

  async #useQuote(caller: Caller): Promise<void> {
    const one = this.#quotes.at(-1 - Math.floor(this.#random.next() * 3));
    if (one === undefined || one.caller === caller) return;
    const use = (quoteId: string) => {
      const context = closeContext(this.#trades.clock, { ownerId: caller });
      return this.#trades.run(this.#service.trade(closeRequest({ size: "0.001", quoteId }), context));
    };
    this.#same("quote", caller, await use(one.quoteId), await use("0".repeat(32)));
  }

  async #ask(caller: Caller): Promise<void> {
    const one = this.#routeIds.at(-1 - Math.floor(this.#random.next() * 8));
    if (one === undefined) return;
    const asker = { ownerId: caller, payer: null, seesAll: false };
    const ask = (routeId: string) =>
      this.#random.next() < 0.5
        ? this.#trades.run(this.#service.askExecution(routeId, ACCOUNTS, asker))
        : this.#trades.run(this.#service.execution(routeId, asker)).then((data) => ({ ok: true, data }));
    const answer = await ask(one.routeId);
    this.#judge("execution", caller, answer);
    if (one.caller !== caller) this.#same("execution", caller, answer, { ok: true, data: null });
  }

  async #list(caller: Caller): Promise<void> {
    const asker = { ownerId: caller, payer: null, seesAll: false };
    const trades = this.#service.status(asker);
    this.#judge("status", caller, [trades.unknown, trades.open]);
    if (trades.unknownCount !== trades.unknown.length) this.problems.push("status: a count of others");
    const orders = this.#desk.desk.status(asker);
    if (orders.unknownCount !== orders.unknown.length) this.problems.push("status: a count of others");
    // The answer to an order does not hold its reference.
    for (const { venueClientOrderId } of [...orders.unknown, ...orders.open])
      if (!this.#mine(caller).has(venueClientOrderId))
        this.problems.push(`status: ${caller ?? "nobody"} sees ${venueClientOrderId}`);
  }

  async #place(caller: Caller): Promise<void> {
    const idempotencyKey = this.#random.next() < 0.4 ? this.#pick(KEYS) : null;
    const clientOrderId = this.#pick(NAMES);
    const limit = { type: "LIMIT", price: "90000", timeInForce: "GTC", quantity: "0.01" } as const;
    const request = { ...limit, clientOrderId, deadlineMs: 1_000 };
    const context = { idempotencyKey, ownerId: caller, rawBody: Buffer.from(clientOrderId) };
    const answer = await this.#desk.place(request, context);
    this.#freshKey("order", caller, idempotencyKey, answer);
    if (answer.ok && !answer.replayed) this.#mine(caller).add(answer.order.venueClientOrderId ?? "");
    const name = `${caller} ${clientOrderId}`;
    if (answer.ok && !answer.replayed) this.#named.set(name, answer.order.venueClientOrderId ?? "");
    else if (!answer.ok && answer.code === "DUPLICATE_CLIENT_ORDER_ID" && !this.#named.has(name))
      this.problems.push(`order: ${caller ?? "nobody"} finds ${clientOrderId} in use`);
  }

  async #askOrder(caller: Caller): Promise<void> {
    const clientOrderId = this.#pick(NAMES);
    const context = orderContext(this.#desk.clock, { ownerId: caller });
    const answer = await this.#desk.run(this.#desk.desk.orderStatus(orderName(clientOrderId), context));
    const named = this.#named.get(`${caller} ${clientOrderId}`);
    if (answer.ok && answer.order.venueClientOrderId !== named)
      this.problems.push(`name: ${caller ?? "nobody"} gets another's order for ${clientOrderId}`);
  }

  async #arm(caller: Caller): Promise<void> {
    const request = { venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs: 3_600_000 } as const;
    const answer = await this.#desk.run(this.#desk.desk.armSwitch(request, caller));
    if (!answer.ok) return;
    // It takes the place of the caller's own, and of nobody else's.
    const before = this.#switches.findIndex((one) => one.caller === caller);
    if (before >= 0) this.#switches.splice(before, 1);
    this.#switches.push({ switchId: answer.armed.switchId, caller });
  }

  async #beat(caller: Caller): Promise<void> {
    for (const one of this.#switches) {
      const answer = await this.#desk.run(this.#desk.desk.heartbeat(one.switchId, caller));
      if (one.caller === caller && !answer.ok) this.problems.push(`switch: ${caller ?? "nobody"} lost its own`);
      if (one.caller !== caller)
        this.#same("switch", caller, answer, await this.#desk.desk.heartbeat("f".repeat(32), caller));
    }
  }

  async #crash(): Promise<void> {
    this.#service = await this.#trades.restart();
    await this.#desk.restart();
    // Both are in memory alone.
    this.#quotes.length = 0;
    this.#switches.length = 0;
  }
}

function deep(venue: FakeVenue): void {
  venue.setPosition(`acct-${venue.venue}`, "LONG", 1_000_000);
}

async function play(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  const trades = createHarness({ store: createMemoryStore(), prepareVenue: deep });
  const desk = await createDesk();
  for (const venue of [trades.one, trades.two, desk.venue]) venue.fate = () => fateOf(random);
  const world = new World(random, trades, desk);
  for (let step = 0; step < STEPS; step++) await world.step();
  return world.problems;
}

/** Whether any of the seeds shows it; what comes after the first that does is not played. */
async function isSeen(text: string): Promise<boolean> {
  for (const seed of SEEDS) if ((await play(seed)).some((problem) => problem.includes(text))) return true;
  return false;
}

afterEach(() => vi.restoreAllMocks());

it("what one owner makes is in no answer to another, and is to it as what does not exist", async () => {
  const problems: string[] = [];
  for (const seed of SEEDS) problems.push(...(await play(seed)).map((problem) => `seed ${seed}: ${problem}`));
  expect(problems).toEqual([]);
}, 300_000);

/** Under which of the callers is it found? */
function firstFound<T>(find: (ownerId: string | null) => T, isFound: (found: T) => boolean): T {
  const all = CALLERS.map(find);
  return all.find(isFound) ?? (all[0] as T);
}

const MUTANTS: readonly (readonly [name: string, seen: string, plant: () => void])[] = [
  [
    "executions",
    "execution:",
    () => {
      vi.spyOn(ExecutionRegistry.prototype, "dataFor").mockImplementation(function (this: ExecutionRegistry, routeId) {
        return this.get(routeId);
      });
    },
  ],
  [
    "lists",
    "status:",
    () => {
      const { listed } = ExecutionRegistry.prototype;
      vi.spyOn(ExecutionRegistry.prototype, "listed").mockImplementation(function (this: ExecutionRegistry, asker) {
        return listed.call(this, { ...asker, seesAll: true });
      });
    },
  ],
  [
    "Idempotency-Keys",
    "in use",
    () => {
      const { begin } = IdempotencyRecords.prototype;
      vi.spyOn(IdempotencyRecords.prototype, "begin").mockImplementation(function (
        this: IdempotencyRecords,
        { scope, key },
        rawBody,
      ) {
        return begin.call(this, { scope: scope.replace(/owner:.*/, "owner:"), key }, rawBody);
      });
    },
  ],
  [
    "quotes",
    "quote:",
    () => {
      const { use } = QuoteBook.prototype;
      vi.spyOn(QuoteBook.prototype, "use").mockImplementation(function (
        this: QuoteBook,
        quoteId,
        request,
        side,
        user,
        by,
      ) {
        const as = (ownerId: string | null) => use.call(this, quoteId, request, side, { ...user, ownerId }, by);
        return firstFound(as, ({ kind }) => kind !== "unknown");
      });
    },
  ],
  [
    "switches",
    "switch:",
    () => {
      const { heartbeat } = DeadManSwitches.prototype;
      vi.spyOn(DeadManSwitches.prototype, "heartbeat").mockImplementation(async function (
        this: DeadManSwitches,
        switchId,
      ) {
        const all = await Promise.all(CALLERS.map((caller) => heartbeat.call(this, switchId, caller)));
        return all.find((one) => one !== null) ?? null;
      });
    },
  ],
  [
    "names",
    "name:",
    () => {
      const claimed = new Map<string, string>();
      const { byName, claimRows } = ClientOrderIdIndex.prototype;
      vi.spyOn(ClientOrderIdIndex.prototype, "claimRows").mockImplementation(function (
        this: ClientOrderIdIndex,
        accountHash,
        claim,
        order,
      ) {
        claimed.set(order.clientOrderId, accountHash);
        return claimRows.call(this, accountHash, claim, order);
      });
      vi.spyOn(ClientOrderIdIndex.prototype, "byName").mockImplementation(function (
        this: ClientOrderIdIndex,
        accountHashes,
        name,
      ) {
        return byName.call(this, [claimed.get(name) ?? "", ...accountHashes], name);
      });
    },
  ],
  [
    "all that is reached",
    "sees",
    () => {
      vi.spyOn(Owners.prototype, "reaches").mockReturnValue(true);
    },
  ],
];

describe("a rule that forgets the owner", () => {
  it.each(MUTANTS)(
    "of %s is seen",
    async (_, seen, plant) => {
      plant();
      expect(await isSeen(seen)).toBe(true);
    },
    300_000,
  );
});
