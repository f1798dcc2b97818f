/**
 * Reasons that help: a caller sees what is wrong with a key, a size or an account, by name of the venue and in its own
 * words, and never with a secret. Through the real gateway over the local venues.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { type Trader, credentialsOf } from "../support/local-pair.js";
import {
  HEDGE_PERP,
  LIMIT_ONE,
  LIMIT_THREE,
  LIMIT_TWO,
  ONE,
  ORDERS_ONE,
  ORDERS_THREE,
  ORDERS_TWO,
  PERP,
  WALLET,
} from "../support/spec-rows.js";
import { BARE_ADDRESS, type SpecSystem, startSpecSystem } from "../support/spec-system.js";
import { at, SpecWalker } from "../support/spec-walker.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_125);
/** Ceilings, not expectations: a shared machine may take most of its cores away for a while. */
const START_MS = 240_000;
const ROW_MS = 120_000;
const CLOSE = "/api/trade/position/close";
const OPEN = "/api/trade/position/open";

let system: SpecSystem;
let carol: Trader;
const walker = new SpecWalker(() => system);
beforeAll(async () => {
  system = await startSpecSystem(SEED);
  // The address is of no server wallet.
  carol = system.pair.addTrader("carol", { positions: { BTC: "0.25" } });
}, START_MS);
afterAll(async () => {
  await system?.stop();
}, START_MS);

type Block = Readonly<Record<string, unknown>>;
const headerOf = (blocks: Block) => ({
  "x-venue-credentials": Buffer.from(JSON.stringify(blocks)).toString("base64url"),
});

/** A key that no venue takes, and the expected reason. */
interface BadKey {
  readonly name: string;
  readonly venue: string;
  readonly block: () => Block;
  readonly said: string;
}

const BAD_KEYS: readonly BadKey[] = [
  {
    name: "venueone, malformed",
    venue: "venueone",
    block: () => ({ privateKey: "0x1234567890" }),
    said: "venueone.privateKey must be 32 bytes of hex",
  },
  {
    name: "venueone, of nobody",
    venue: "venueone",
    block: () => ({ privateKey: `0x${"ab".repeat(32)}` }),
    said: "AGENT_NOT_APPROVED: the key is neither an account's nor an approved agent's",
  },
  {
    name: "venuetwo, unknown",
    venue: "venuetwo",
    block: () => ({ apiKey: "a".repeat(64), apiSecret: "b".repeat(64) }),
    said: "-2015 Invalid API-key, IP, or permissions for action.",
  },
  {
    name: "venuetwo, another secret",
    venue: "venuetwo",
    block: () => ({ ...credentialsOf(system.alice)["venuetwo"], apiSecret: "b".repeat(64) }),
    said: "-1022 Signature for this request is not valid.",
  },
  {
    name: "venuethree, malformed",
    venue: "venuethree",
    block: () => ({ apiKeyPrivateKey: "abcdef0123", accountIndex: 1 }),
    said: "venuethree.apiKeyPrivateKey must be 40 bytes of hex",
  },
  {
    name: "venuethree, a stranger's",
    venue: "venuethree",
    block: () => ({ apiKeyPrivateKey: `0x${"11".repeat(39)}01`, accountIndex: system.key.accountIndex }),
    said: "the key is not registered for this accountIndex",
  },
  {
    name: "venuefour, malformed",
    venue: "venuefour",
    block: () => ({ apiKey: "abcdef0123", apiSecret: "secret0123" }),
    said: "venuefour.walletAddress must be a base58 address of 32 bytes",
  },
];

describe("a wrong key says so, in the venue's words,", () => {
  it.each(BAD_KEYS)(
    "$name",
    async ({ venue, block: make, said }) => {
      await system.freshBooks();
      const block = make();
      const { walletAddress: _public, ...secretParts } = block;
      const secrets = Object.values(secretParts).filter((value) => typeof value === "string") as string[];
      const good = credentialsOf(system.alice);
      const terms = { symbol: "BTC", direction: "LONG", size: "0.01" };
      const one = { [venue]: block };
      const told: [where: string, text: unknown][] = [];
      const note = (where: string, reply: { text: string }, text: unknown): void => {
        for (const secret of secrets) expect(reply.text, where).not.toContain(secret.replace(/^0x/, ""));
        told.push([where, text]);
      };
      for (const [what, path] of [
        ["close", CLOSE],
        ["open", OPEN],
      ] as const) {
        const forced = await walker.post(path, { ...terms, preferredExchange: venue, credentials: one });
        expect(forced.status, forced.text).toBe(401);
        note(`forced ${what}`, forced, at(forced, "details.problem"));
        const alone = await walker.post(path, { ...terms, credentials: one });
        expect([alone.status, at(alone, "code")], alone.text).toEqual([400, "NO_ELIGIBLE_VENUE"]);
        note(`${what} with nothing else`, alone, candidateOf(alone, "details.candidates", venue));
        const beside = await walker.post(path, { ...terms, dryRun: true, credentials: { ...good, ...one } });
        expect(beside.status, beside.text).toBe(200);
        note(`${what} beside others`, beside, candidateOf(beside, "data.routing.candidates", venue));
      }
      const headers = headerOf(one);
      const status = await walker.send({ path: `/api/trading/${venue}/orders/12345/status?symbol=BTC`, headers });
      note("status", status, at(status, "details.problem"));
      const openOrders = await walker.send({ path: `/api/trading/${venue}/orders/open`, headers });
      note("open orders", openOrders, at(openOrders, "details.problem"));
      const missing = `Missing or invalid credentials for ${venue}: `;
      for (const path of ["/api/trading/positions/all/{alice}", "/api/trading/balances/all/{alice}"]) {
        const all = await walker.send({ path, headers });
        expect(all.status, all.text).toBe(200);
        const message = String(at(all, `coverage.${venue}.error.message`));
        note(path, all, message.startsWith(missing) ? message.slice(missing.length) : message);
      }
      const everything = await walker.post("/api/trade/close-all", {}, headers);
      expect(everything.status, everything.text).toBe(200);
      const message = String(at(everything, "data.venues.0.error.message"));
      note("close-all", everything, message.startsWith(missing) ? message.slice(missing.length) : message);
      expect(told).toEqual(told.map(([where]) => [where, said]));
      for (const secret of secrets) expect(system.logLines.join("\n")).not.toContain(secret.replace(/^0x/, ""));
    },
    ROW_MS,
  );
});

function candidateOf(reply: Parameters<typeof at>[0], path: string, venue: string): unknown {
  const candidates = at(reply, path) as { exchange: string; problem?: string }[] | undefined;
  return candidates?.find(({ exchange }) => exchange === venue)?.problem;
}

describe("a size that cannot be closed", () => {
  const terms = { symbol: "BTC", direction: "LONG" };
  it(
    "of a flat account is not too large: there is nothing to close",
    async () => {
      const flat = system.pair.addTrader("flat", { positions: { ETH: "-1" } });
      const credentials = credentialsOf(flat);
      for (const body of [
        { ...terms, size: "0.01", credentials },
        { ...terms, size: "ALL", credentials },
        { ...terms, size: "0.01", preferredExchange: "venueone", credentials },
      ]) {
        const reply = await walker.post(CLOSE, body);
        expect([reply.status, at(reply, "code"), at(reply, "error")], reply.text).toEqual([
          400,
          "SIZE_EXCEEDS_POSITION",
          "There is no open position to close",
        ]);
        expect([at(reply, "details.maxTotalSize"), at(reply, "details.reason")]).toEqual(["0", "NO_POSITION"]);
      }
    },
    ROW_MS,
  );

  it(
    "of all, where no venue holds it alone: allowSplit closes it",
    async () => {
      await system.freshBooks();
      const credentials = credentialsOf(system.alice);
      for (const size of ["ALL", "0.75"]) {
        const reply = await walker.post(CLOSE, { ...terms, size, credentials });
        expect([reply.status, at(reply, "code"), at(reply, "error")], reply.text).toEqual([
          400,
          "SIZE_EXCEEDS_POSITION",
          "No single venue holds this size; routingOptions.allowSplit closes it on several",
        ]);
        expect(at(reply, "details.reason")).toBe("NEEDS_SPLIT");
      }
      const more = await walker.post(CLOSE, { ...terms, size: "99", credentials });
      expect([at(more, "error"), at(more, "details.reason")], more.text).toEqual([
        "Size exceeds the open position",
        undefined,
      ]);
      const split = { ...terms, size: "ALL", credentials, dryRun: true, routingOptions: { allowSplit: true } };
      const simulated = await walker.post(CLOSE, split);
      expect(simulated.status, simulated.text).toBe(200);
    },
    ROW_MS,
  );

  it(
    "on one venue: the wrong side and a symbol that is flat are said as what they are",
    async () => {
      const close = {
        userId: "alice",
        symbol: "BTC",
        side: "BUY",
        type: "MARKET",
        quantity: "0.1",
        price: "200000",
        reduceOnly: true,
      };
      const wrong = await walker.post(`${ONE}/positions/close/BTC`, close, WALLET);
      expect([wrong.status, at(wrong, "error"), at(wrong, "details.reason")], wrong.text).toEqual([
        400,
        "The open position is in the other direction",
        "DIRECTION_MISMATCH",
      ]);
      const side = await walker.post(`${HEDGE_PERP}/close-position`, { symbol: "BTC", positionSide: "SHORT" });
      expect([side.status, at(side, "details.reason")], side.text).toEqual([400, "DIRECTION_MISMATCH"]);
      await system.freshBooks();
      const all = await walker.post(`${PERP}/close-position`, { symbol: "ETHUSDT" });
      expect(all.status, all.text).toBe(200);
      const again = await walker.post(`${PERP}/close-position`, { symbol: "ETHUSDT" });
      expect([again.status, at(again, "error"), at(again, "details.reason")], again.text).toEqual([
        400,
        "There is no open position to close",
        "NO_POSITION",
      ]);
    },
    ROW_MS,
  );
});

describe("timingMs", () => {
  it(
    "has parts that add up to its total, in a dry run and in a close",
    async () => {
      await system.freshBooks();
      const credentials = credentialsOf(system.alice);
      for (const dryRun of [true, false]) {
        const terms = { symbol: "BTC", direction: "LONG", size: "0.01", credentials, dryRun };
        const reply = await walker.post(CLOSE, { ...terms, routingOptions: { maxSlippageBps: 500 } });
        expect(reply.status, reply.text).toBe(200);
        const { total, ...parts } = at(reply, "data.execution.timingMs") as Record<string, number>;
        expect(Object.keys(parts).sort()).toEqual(["other", "positions", "routing", "sign", "venue"]);
        const sum = Object.values(parts).reduce((whole, part) => whole + part, 0);
        expect(sum, reply.text).toBeCloseTo(total ?? Number.NaN, 6);
        expect(Math.min(...Object.values(parts))).toBeGreaterThanOrEqual(0);
      }
    },
    ROW_MS,
  );
});

describe("credentials of another wallet than the path's", () => {
  const blocksOf = (): Record<string, Block> => {
    const { venueone = {}, venuetwo = {} } = credentialsOf(system.alice);
    const walletAddress = system.alice.venueone.address;
    return { venueone: { ...venueone, walletAddress }, venuetwo, venuethree: { ...system.key, walletAddress } };
  };

  it.each(["positions", "balances", "fills", "funding"])(
    "are 401 on %s of one venue",
    async (what) => {
      const blocks = blocksOf();
      for (const [venue, block] of Object.entries(blocks)) {
        const headers = headerOf({ [venue]: block });
        const reply = await walker.send({ path: `/api/trading/${venue}/${what}/${BARE_ADDRESS}`, headers });
        expect([venue, reply.status, at(reply, "error")], reply.text).toEqual([
          venue,
          401,
          `Missing or invalid credentials for ${venue}`,
        ]);
        const own = await walker.send({ path: `/api/trading/${venue}/${what}/{alice}`, headers });
        expect([venue, own.status], own.text).toEqual([venue, 200]);
      }
      const other = system.venuefour.addAccount({ accountId: `other-${what}`, deposit: "1" }).walletAddress;
      const headers = headerOf({ venuefour: system.venuefourBlock });
      const four = await walker.send({ path: `/api/trading/venuefour/${what}/${other}`, headers });
      expect(four.status, four.text).toBe(401);
    },
    ROW_MS,
  );

  it(
    "answer over all venues, each entry under the account that was read",
    async () => {
      const { venueone = {}, venuetwo = {} } = credentialsOf(carol);
      const wallet = carol.venueone.address;
      const three = { venuethree: system.key };
      for (const blocks of [
        { venueone, venuetwo, ...three },
        { venueone: { ...venueone, walletAddress: wallet }, venuetwo, ...three },
      ]) {
        const headers = headerOf(blocks);
        const positions = await walker.send({ path: `/api/trading/positions/all/${BARE_ADDRESS}`, headers });
        expect(positions.status, positions.text).toBe(200);
        const rows = at(positions, "positions") as { exchange: string; walletAddress: string; symbol: string }[];
        const owners = (venue: string) => [
          ...new Set(rows.filter((row) => row.exchange === venue).map((row) => row.walletAddress)),
        ];
        expect([owners("venueone"), owners("venuetwo"), owners("venuethree")], positions.text).toEqual([
          [wallet],
          [wallet],
          [system.alice.venueone.address],
        ]);
        const balances = await walker.send({ path: `/api/trading/balances/all/${BARE_ADDRESS}`, headers });
        expect(balances.status, balances.text).toBe(200);
        const accounts = at(balances, "data.accounts") as { exchange: string; walletAddress: string }[];
        const named = accounts
          .filter(({ exchange }) => exchange !== "venuefour")
          .map(({ exchange, walletAddress }) => [exchange, walletAddress]);
        expect(named, balances.text).toEqual([
          ["venueone", wallet],
          ["venuetwo", wallet],
          ["venuethree", system.alice.venueone.address],
        ]);
      }
    },
    ROW_MS,
  );
});

describe("post-only", () => {
  const targets = [
    { venue: "venueone", path: ORDERS_ONE, body: LIMIT_ONE, who: WALLET },
    { venue: "venuetwo", path: ORDERS_TWO, body: LIMIT_TWO, who: WALLET },
    { venue: "venuethree", path: ORDERS_THREE, body: LIMIT_THREE, who: { "x-venue-credentials": "{three}" } },
    {
      venue: "venuefour",
      path: "/api/trading/venuefour/orders",
      body: LIMIT_TWO,
      who: { "x-venue-credentials": "{venuefour}" },
    },
  ];
  it.each(targets)(
    "by either name on $venue; a normalized order says POST_ONLY, venuetwo's own form GTX",
    async ({ venue, path, body, who }) => {
      for (const timeInForce of ["POST_ONLY", "GTX"]) {
        await system.freshBooks();
        const placed = await walker.post(path, { ...body, price: "50010", timeInForce }, who);
        expect(placed.status, `${timeInForce}: ${placed.text}`).toBe(200);
        if (venue === "venuetwo") expect(at(placed, "data.timeInForce")).toBe("GTX");
        const open = { path: `/api/trading/${venue}/orders/open?symbol=BTC`, headers: who };
        await expect
          .poll(async () => {
            const orders = at(await walker.send(open), "data.orders") as { timeInForce?: string }[];
            return orders.map((order) => order.timeInForce);
          })
          // venuefour's lists do not say it.
          .toEqual([venue === "venuefour" ? undefined : "POST_ONLY"]);
        const gone = await walker.send({
          method: "DELETE",
          path: `/api/trading/${venue}/orders?symbol=BTC`,
          headers: who,
        });
        expect(gone.status, gone.text).toBe(200);
        await expect.poll(async () => at(await walker.send(open), "data.total")).toBe(0);
      }
    },
    ROW_MS,
  );
});

describe("totals", () => {
  it(
    "of histories are given only where the whole range was read",
    async () => {
      await system.freshBooks();
      for (let index = 0; index < 3; index++) {
        const placed = await walker.post(ORDERS_ONE, { ...LIMIT_ONE, type: "MARKET", price: "200000" }, WALLET);
        expect(placed.status, placed.text).toBe(200);
      }
      for (const [path, list] of [
        [`${ONE}/orders/historical`, "orders"],
        ["/api/trading/venueone/fills/{alice}", "fills"],
      ] as const) {
        const whole = await walker.send({ path: `${path}?limit=1000`, headers: WALLET });
        const count = (at(whole, `data.${list}`) as unknown[]).length;
        expect(count).toBeGreaterThanOrEqual(3);
        expect([at(whole, "data.total"), at(whole, "data.nextCursor")], list).toEqual([count, null]);
        const page = await walker.send({ path: `${path}?limit=2`, headers: WALLET });
        expect([at(page, "data.total"), (at(page, `data.${list}`) as unknown[]).length], list).toEqual([null, 2]);
        const cursor = encodeURIComponent(String(at(page, "data.nextCursor")));
        const rest = await walker.send({ path: `${path}?limit=1000&cursor=${cursor}`, headers: WALLET });
        expect([rest.status, at(rest, "data.total")], rest.text).toEqual([200, null]);
      }
    },
    ROW_MS,
  );
});

describe("times of histories", () => {
  it(
    "are ms or ISO 8601",
    async () => {
      for (const path of [
        `${ONE}/orders/historical`,
        "/api/trading/venueone/fills/{alice}",
        "/api/trading/venuetwo/funding/{alice}",
      ]) {
        const asked = { path: `${path}?since=2026-11-01&until=2026-12-01T00:00:00Z`, headers: WALLET };
        const since = Date.UTC(2026, 10, 1);
        const iso = await walker.send(asked);
        expect([path, iso.status], iso.text).toEqual([path, 200]);
        const inMs = { path: `${path}?since=${since}&until=${Date.UTC(2026, 11, 1)}`, headers: WALLET };
        const ms = await walker.send(inMs);
        expect(at(iso, "data")).toEqual(at(ms, "data"));
        const wrong = await walker.send({ path: `${path}?since=yesterday`, headers: WALLET });
        expect([wrong.status, at(wrong, "details.fields")], wrong.text).toEqual([
          400,
          [
            {
              path: "since",
              problem: "must be Unix ms or an ISO 8601 time with its zone, such as 2026-11-23T10:00:00Z",
            },
          ],
        ]);
        const turned = { path: `${path}?since=2026-12-01&until=2026-11-01`, headers: WALLET };
        expect((await walker.send(turned)).status).toBe(400);
      }
    },
    ROW_MS,
  );
});

describe("venuethree, right after", () => {
  /** An account of the tier whose orders wait before matching and listing. */
  const slow = { accountIndex: 300_000, apiKeyIndex: 5, apiKeyPrivateKey: `0x${"27".repeat(39)}01` };
  beforeAll(() => {
    const publicKey = publicKeyOf(Buffer.from(slow.apiKeyPrivateKey.slice(2), "hex"));
    system.venuethree.addAccount({
      accountIndex: slow.accountIndex,
      l1Address: "0x90f79bf6eb2c4f870365e785982e1f101e93b906",
      tier: "standard",
      apiKeys: [{ apiKeyIndex: slow.apiKeyIndex, publicKey: Buffer.from(publicKey).toString("hex") }],
      deposit: "1000000",
      positions: [],
    });
  });

  it(
    "placing, an amend finds the order",
    async () => {
      for (let round = 0; round < 3; round++) {
        await system.freshBooks();
        const who = headerOf({ venuethree: slow });
        const placed = await walker.post(ORDERS_THREE, { ...LIMIT_THREE, userId: "slow" }, who);
        expect(placed.status, placed.text).toBe(200);
        const path = `/api/trading/venuethree/orders/${String(at(placed, "orderId"))}`;
        const change = { symbol: "BTC", price: "50020" };
        const changed = await walker.send({ method: "PATCH", path, body: change, headers: who });
        expect([changed.status, at(changed, "data.outcome")], changed.text).toEqual([200, "ACCEPTED"]);
        const status = { path: `${path}/status?symbol=BTC`, headers: who };
        await expect.poll(async () => at(await walker.send(status), "data.price")).toBe("50020");
        await walker.send({ method: "DELETE", path: "/api/trading/venuethree/orders?symbol=BTC", headers: who });
      }
    },
    ROW_MS,
  );

  it(
    "a change of leverage, the margin mode reports it and leaves it",
    async () => {
      const who = headerOf({ venuethree: slow });
      const path = "/api/trading/venuethree";
      for (const [leverage, marginMode] of [
        [8, "isolated"],
        [20, "cross"],
      ] as const) {
        const set = await walker.post(`${path}/leverage`, { symbol: "BTC", leverage }, who);
        expect([set.status, at(set, "data.leverage")], set.text).toEqual([200, leverage]);
        const mode = await walker.post(`${path}/margin-mode`, { symbol: "BTC", marginMode }, who);
        expect([mode.status, at(mode, "data.leverage"), at(mode, "data.marginMode")], mode.text).toEqual([
          200,
          leverage,
          marginMode,
        ]);
      }
      // Long after, by the venue's own state.
      await expect.poll(() => system.venuethree.exchange.accounts.leverage(String(slow.accountIndex), "BTC")).toBe(20);
    },
    ROW_MS,
  );

  it(
    "an open that names margin mode and leverage, both are set: the second reverts nothing",
    async () => {
      const name = String(slow.accountIndex);
      const { exchange } = system.venuethree;
      for (const [leverage, marginMode] of [
        [4, "isolated"],
        [10, "cross"],
      ] as const) {
        await system.freshBooks();
        const opened = await walker.post(OPEN, {
          symbol: "ETH",
          direction: "LONG",
          size: "0.1",
          leverage,
          marginMode,
          preferredExchange: "venuethree",
          credentials: { venuethree: slow },
          routingOptions: { maxSlippageBps: 500 },
        });
        expect([opened.status, at(opened, "success")], opened.text).toEqual([200, true]);
        await expect
          .poll(() => [exchange.accounts.leverage(name, "ETH"), exchange.accounts.marginMode(name, "ETH")])
          .toEqual([leverage, marginMode]);
        await expect.poll(() => exchange.accounts.position(name, "ETH", "BOTH")?.qtyLots ?? 0).toBeGreaterThan(0);
        const close = { symbol: "ETH", direction: "LONG", size: "ALL", credentials: { venuethree: slow } };
        await expect.poll(async () => (await walker.post("/api/trade/position/close", close)).status).toBe(200);
        await expect.poll(() => exchange.accounts.position(name, "ETH", "BOTH")?.qtyLots ?? 0).toBe(0);
      }
    },
    ROW_MS,
  );
});
