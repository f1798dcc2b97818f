/**
 * Fields that a route does not know, over HTTP: on routes that send, change or arm something they refuse the request, on
 * reads they are named and ignored. What the interface spec names for an operation, or for a twin of it, is never unknown.
 */
import { Owners } from "../../engine/domain/owner.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GuardBook, NO_LIMITS } from "../../engine/guards/guard-book.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import type { Operation } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { MemoryCredentials } from "../accounts/memory-credentials.js";
import { createTradingDesk } from "../accounts/trading-desk.js";
import type { Reply, RequestOptions } from "./client.js";
import { createFakeDesk, FRESH_SCRIPT } from "./fake-desk.js";
import { createFakeRoom, fakeMarket, type FakeRoom, loadBook } from "./fake-room.js";
import { type Harness, PROVEN_AHEAD_NS, startHarness } from "./harness.js";
import type { KeyAnswer } from "../accounts/key-desk.js";
import { createFakeMoneyDesk } from "./fake-money-desk.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { TestWallets } from "./test-wallets.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const KEY_ONE = { privateKey: "0xkey-of-one" };
const KEY_TWO = { apiKey: "key", apiSecret: "secret", walletAddress: ADDRESS };
const CREDENTIALS = { venueone: KEY_ONE, venuetwo: KEY_TWO };
const THREE_KEY = { apiKeyPrivateKey: "ab".repeat(40), apiKeyIndex: 3, accountIndex: 9 };

const desk = createFakeDesk();
const wallets = new TestWallets();
const { ROOMS, refreshBooks } = fourRooms();
const [ROOM_ONE] = ROOMS as [FakeRoom, ...FakeRoom[]];
let signer: Wallet;
let strict: Harness;
let lenient: Harness;

/** A room of each venue, BTC listed, books that do not age while the test runs. */
function fourRooms(): { readonly ROOMS: readonly FakeRoom[]; readonly refreshBooks: (nowNs: number) => void } {
  const markets = ROUTABLE_VENUES.map((venue) => fakeMarket(anInstrument({ venue })));
  return {
    ROOMS: markets.map((market) => createFakeRoom(market.instrument.venue, [market], () => Date.now())),
    refreshBooks(nowNs) {
      for (const { book } of markets) loadBook(book, [[974_170, 5000]], [[974_180, 4000]], nowNs + PROVEN_AHEAD_NS);
    },
  };
}

function start(strictFields: boolean): Promise<Harness> {
  return startHarness({
    rooms: ROOMS,
    server: { strictFields },
    wallets: { provider: wallets, appendAct: async () => {} },
    money: createFakeMoneyDesk(),
    keyDesk: {
      register: async () => KEY,
      rotate: async () => KEY,
      revoke: async () => ({ count: 1, pending: 0, undroppable: 0 }),
      list: () => [],
    },
    async trading({ clock, store, logger }) {
      const killSwitch = new GuardBook({
        store,
        clock,
        logger,
        policy: { global: NO_LIMITS, each: NO_LIMITS, byOwner: new Map() },
      });
      await killSwitch.start();
      const wallets = new MemoryCredentials([
        { ownerId: null, walletId: WALLET, userId: "alice", address: ADDRESS, credentials: CREDENTIALS },
      ]);
      return createTradingDesk({
        recordAct: async () => {},
        clock,
        wallets,
        owners: new Owners(),
        orders: desk,
        killSwitch,
        operator: { loopbackOnly: true, open: true },
      });
    },
  });
}

beforeAll(async () => {
  signer = await wallets.create("signer", null);
  strict = await start(true);
  lenient = await start(false);
});
afterAll(async () => {
  await strict.stop();
  await lenient.stop();
});
beforeEach(() => {
  desk.calls.length = 0;
  wallets.forget(NEW_USER);
  Object.assign(desk.script, FRESH_SCRIPT);
  refreshBooks(strict.clock.monoNs());
  ROOM_ONE.held.set("BTC", 400);
});

const ORDER = { symbol: "BTC", side: "BUY", type: "LIMIT", quantity: "0.01", price: "96000" };
const CLOSE = { symbol: "BTC", direction: "LONG", size: "0.1", dryRun: true, credentials: { venueone: KEY_ONE } };

interface Sending {
  readonly operation: Operation;
  readonly path: string;
  readonly body: Record<string, unknown>;
  /** In `x-wallet-id`; default WALLET. */
  readonly walletId?: () => string;
}

const NEW_USER = "made by each request anew";

const MOVE = { amount: "1", asset: "USDT", kindType: "SPOT_FUTURE" };
const OUT = { chainId: 56, asset: "USDT", amount: "25", accountType: "spot" };
const OF_SIGNER = { walletIdOrAddress: "signer" };
const KEY: KeyAnswer = {
  key: {
    ...{ venue: "venueone", status: "ACTIVE", signer: ADDRESS, name: "one", isAnswered: true, requestIds: ["r-1"] },
    ...{ createdAtMs: 1, expiresAtMs: 2 },
  },
  secretHex: null,
  replayed: false,
};

/** Every operation that sends, changes or arms something, with a body that it accepts. */
const SENDING: readonly Sending[] = [
  { operation: OPERATIONS.positionClose, path: "", body: CLOSE },
  { operation: OPERATIONS.positionOpen, path: "", body: CLOSE },
  { operation: OPERATIONS.venuetwoPerpOrder, path: `/api/venuetwo/perp/${WALLET}/order`, body: ORDER },
  { operation: OPERATIONS.venuetwoOrder, path: "", body: ORDER },
  { operation: OPERATIONS.venueoneOrder, path: "", body: { userId: "alice", ...ORDER } },
  {
    operation: OPERATIONS.venuethreeOrder,
    path: "",
    body: { userId: ADDRESS, ...ORDER, credentials: { venuethree: THREE_KEY } },
  },
  { operation: OPERATIONS.venuefourOrder, path: "", body: { ...ORDER, credentials: { venuefour: KEY_TWO } } },
  {
    operation: OPERATIONS.venueoneClose,
    path: `/api/venueone/${WALLET}/positions/close/BTC`,
    body: { userId: "alice", ...ORDER, side: "SELL", reduceOnly: true },
  },
  {
    operation: OPERATIONS.venueoneCloseAll,
    path: `/api/venueone/${WALLET}/positions/close-all`,
    body: { userId: "alice", reduceOnly: true },
  },
  { operation: OPERATIONS.venuetwoClose, path: `/api/venuetwo/perp/${WALLET}/close-position`, body: { symbol: "BTC" } },
  {
    operation: OPERATIONS.venuetwoLeverage,
    path: `/api/venuetwo/perp/${WALLET}/leverage`,
    body: { symbol: "BTC", leverage: 5 },
  },
  { operation: OPERATIONS.cancelOrder, path: "/api/trading/venueone/orders/77", body: {} },
  { operation: OPERATIONS.amendOrder, path: "/api/trading/venueone/orders/77", body: { price: "96000" } },
  { operation: OPERATIONS.cancelAllOrders, path: "/api/trading/venueone/orders", body: {} },
  { operation: OPERATIONS.setLeverage, path: "/api/trading/venueone/leverage", body: { symbol: "BTC", leverage: 5 } },
  {
    operation: OPERATIONS.setMarginMode,
    path: "/api/trading/venueone/margin-mode",
    body: { symbol: "BTC", marginMode: "cross" },
  },
  { operation: OPERATIONS.closeEverything, path: "", body: {} },
  { operation: OPERATIONS.deadMan, path: "/api/trading/venueone/dead-man", body: { timeoutMs: 60_000 } },
  { operation: OPERATIONS.deadManHeartbeat, path: "/api/trading/dead-man/dm_1/heartbeat", body: {} },
  { operation: OPERATIONS.deadManEnd, path: "/api/trading/dead-man/dm_1", body: {} },
  { operation: OPERATIONS.killSwitch, path: "", body: { active: false } },
  { operation: OPERATIONS.walletCreate, path: "", body: { userId: NEW_USER } },
  { operation: OPERATIONS.walletSign, path: "/api/wallets/signer/sign", body: { message: "m", digest: null } },
  { operation: OPERATIONS.venueKeyRegister, path: "/api/trading/venueone/apikey", body: OF_SIGNER },
  { operation: OPERATIONS.venueKeyRotate, path: "/api/trading/venueone/apikey/rotate", body: OF_SIGNER },
  { operation: OPERATIONS.venueKeyRevoke, path: "/api/trading/venueone/apikey", body: OF_SIGNER },
  {
    operation: OPERATIONS.deposit,
    path: "/api/trading/venuetwo/deposit",
    body: { ...OF_SIGNER, tokenSymbol: "USDT", amount: "25.5", network: "bsc", broker: 7 },
    walletId: () => signer.walletId,
  },
  {
    operation: OPERATIONS.venuetwoTransfer,
    path: "",
    get body() {
      return { address: signer.address, ...MOVE };
    },
    walletId: () => signer.walletId,
  },
  {
    operation: OPERATIONS.venuetwoWithdraw,
    path: "",
    get body() {
      return { walletAddress: signer.address, receiver: signer.address, ...OUT };
    },
    walletId: () => signer.walletId,
  },
  {
    operation: OPERATIONS.venueoneWithdraw,
    path: "",
    body: { ...OF_SIGNER, destination: ADDRESS, amount: "7", chainId: 42_161 },
    walletId: () => signer.walletId,
  },
];

function send(harness: Harness, { operation, path, walletId }: Sending, body: unknown): Promise<Reply> {
  return harness.client.send(path === "" ? operation.path : path, {
    method: operation.method as NonNullable<RequestOptions["method"]>,
    headers: { "content-type": "application/json", "x-wallet-id": walletId?.() ?? WALLET },
    body: JSON.stringify(body),
  });
}

function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}

function refusedPaths(reply: Reply): unknown {
  const fields = (at(reply, "details.fields") ?? []) as readonly { readonly path: string }[];
  return [reply.status, at(reply, "error"), fields.map(({ path }) => path)];
}

const byId = SENDING.map((sending) => [sending.operation.id, sending] as const);

describe("an unknown field", () => {
  it("is asked of every operation that sends, changes or arms something", () => {
    // A POST with the scope `read` makes a ticket, and takes no body.
    const sending = Object.values<Operation>(OPERATIONS).filter(
      ({ method, access }) => method !== "GET" && access.scope !== "read",
    );
    expect(new Set(SENDING.map(({ operation }) => operation.id))).toEqual(new Set(sending.map(({ id }) => id)));
  });

  it.each(byId)("%s refuses it by name, and nothing is asked of the desk", async (_, sending) => {
    const before = ROOM_ONE.placed.length;
    const reply = await send(strict, sending, { ...sending.body, dryrun: true, sizePercnt: "50" });
    expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["dryrun", "sizePercnt"]]);
    expect(at(reply, "code")).toBe("INVALID_PARAMETERS");
    expect(desk.calls).toEqual([]);
    expect(ROOM_ONE.placed.length).toBe(before);
  });

  it.each(byId)("%s takes the same body without it", async (_, sending) => {
    const reply = await send(strict, sending, sending.body);
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    expect(reply.headers["x-ignored-fields"]).toBeUndefined();
  });

  it.each(byId)("%s ignores and names it where STRICT_FIELDS is off", async (_, sending) => {
    const reply = await send(lenient, sending, { ...sending.body, dryrun: true });
    expect([reply.status, reply.headers["x-ignored-fields"]]).toEqual([200, "dryrun"]);
  });

  it.each(byId)("%s refuses it in the query too, and nothing is asked of the desk", async (_, sending) => {
    const { operation, path, body } = sending;
    const before = ROOM_ONE.placed.length;
    const target = `${path === "" ? operation.path : path}?symbl=ETH&dryrun=true`;
    const reply = await send(strict, { ...sending, path: target }, body);
    expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["query.symbl", "query.dryrun"]]);
    expect(desk.calls).toEqual([]);
    expect(ROOM_ONE.placed.length).toBe(before);
  });

  it.each(byId)("%s ignores and names it in the query where STRICT_FIELDS is off", async (_, sending) => {
    const { operation, path, body } = sending;
    const target = `${path === "" ? operation.path : path}?symbl=ETH`;
    const reply = await send(lenient, { ...sending, path: target }, body);
    expect([reply.status, reply.headers["x-ignored-fields"]]).toEqual([200, "query.symbl"]);
  });

  it("in the query is no name that the spec gives a caller", async () => {
    const cancel = SENDING.find(({ operation }) => operation === OPERATIONS.cancelOrder);
    if (cancel === undefined) throw new Error("no cancel");
    const reply = await send(strict, { ...cancel, path: `${cancel.path}?symbol=BTC&userId=alice` }, cancel.body);
    expect(reply.status).toBe(200);
  });

  it("is found in nested objects and named with its path", async () => {
    const reply = await send(strict, SENDING[0] as Sending, {
      ...CLOSE,
      routingOptions: { maxSlipageBps: 10 },
      credentials: { venueone: { ...KEY_ONE, vault: ADDRESS }, venuenine: {} },
    });
    expect(refusedPaths(reply)).toEqual([
      400,
      "Invalid request parameters",
      ["credentials.venueone.vault", "credentials.venuenine", "routingOptions.maxSlipageBps"],
    ]);
  });

  it("is not repeated where its name holds a key, wherever in the body it is and however it would be cut", async () => {
    const key = "c0ffee15".repeat(8);
    const body = { ...CLOSE, [key]: 1, credentials: { venueone: { ...KEY_ONE, [key]: 1, [`0x${key}`]: 1 } } };
    for (const harness of [strict, lenient]) {
      const reply = await send(harness, SENDING[0] as Sending, body);
      expect(JSON.stringify([reply.text, reply.headers])).not.toContain(key.slice(0, 24));
      expect(JSON.stringify([reply.text, reply.headers])).toContain("credentials.venueone.");
    }
  });

  it("is reported beside what is missing and what is wrong, all of them at once", async () => {
    const missing = await send(strict, SENDING[0] as Sending, { symbool: "BTC", direction: "LONG", size: "x" });
    expect(refusedPaths(missing)).toEqual([
      400,
      "Missing required parameters",
      ["symbol", "credentials", "size", "symbool"],
    ]);
    const wrong = await send(strict, SENDING[3] as Sending, { ...ORDER, quantity: 1, quantty: "1" });
    expect(refusedPaths(wrong)).toEqual([400, "Invalid request parameters", ["quantity", "quantty"]]);
  });

  it("binds no Idempotency-Key: the same key works with the body put right", async () => {
    const headers = { "content-type": "application/json", "idempotency-key": "strict-1" };
    const path = OPERATIONS.positionClose.path;
    const refused = await strict.client.send(path, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...CLOSE, dryrun: true, dryRun: false }),
    });
    const good = await strict.client.send(path, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...CLOSE, dryRun: false }),
    });
    expect([refused.status, good.status]).toEqual([400, 200]);
  });

  it("is ignored and named by reads", async () => {
    const reply = await strict.client.send(`/api/trading/venueone/orders/open`, {
      method: "GET",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ credentials: { venueone: KEY_ONE }, simbol: "BTC" }),
    });
    expect([reply.status, reply.headers["x-ignored-fields"]]).toEqual([200, "simbol"]);
  });
});

/** Of those that act for an account; a wallet route names its wallet in the path, or makes it. */
const ofAccounts = byId.filter(([id, { operation }]) => id !== "killSwitch" && operation.tag !== "wallets");

describe("a field that the interface spec names", () => {
  it.each(ofAccounts)("%s knows the names of the wallet and the broker", async (_, sending) => {
    const named = { userId: "alice", walletIdOrAddress: ADDRESS, broker: 1000, ...sending.body };
    const reply = await send(strict, sending, named);
    expect([reply.status, reply.headers["x-ignored-fields"]]).toEqual([200, undefined]);
  });

  it.each(
    ofAccounts.filter(
      ([id]) => !["deadManHeartbeat", "deadManEnd", "venuethreeOrder", "positionClose", "positionOpen"].includes(id),
    ),
  )("%s refuses walletIdOrAddress of another wallet", async (_, sending) => {
    const reply = await send(strict, sending, {
      ...sending.body,
      walletIdOrAddress: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    });
    expect([reply.status, at(reply, "error")]).toEqual([401, "Invalid wallet ID"]);
    expect(desk.calls).toEqual([]);
  });

  it.each(["venuetwoPerpOrder", "venuetwoOrder", "venueoneOrder", "venuethreeOrder", "venuefourOrder"])(
    "%s knows what its twins take: timeInForce, positionSide BOTH, reduceOnly",
    async (id) => {
      const sending = SENDING.find(({ operation }) => operation.id === id) as Sending;
      const body = { ...sending.body, timeInForce: "GTC", positionSide: "BOTH", reduceOnly: false };
      expect((await send(strict, sending, body)).status).toBe(200);
      expect(desk.calls[0]?.request).toMatchObject({ timeInForce: "GTC", positionSide: "BOTH", reduceOnly: false });
    },
  );

  it.each(["venueoneOrder", "venuethreeOrder", "venuefourOrder"])(
    "%s refuses a hedge side, which it cannot honour",
    async (id) => {
      const sending = SENDING.find(({ operation }) => operation.id === id) as Sending;
      const reply = await send(strict, sending, { ...sending.body, positionSide: "LONG" });
      expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["positionSide"]]);
      expect(desk.calls).toEqual([]);
    },
  );

  it.each(["positionClose", "positionOpen", "venueoneClose", "venuetwoClose"])(
    "%s knows timeInForce, and refuses one that it does not send",
    async (id) => {
      const sending = SENDING.find(({ operation }) => operation.id === id) as Sending;
      const sent = id === "venueoneClose" ? "GTC" : "IOC";
      expect((await send(strict, sending, { ...sending.body, timeInForce: sent })).status).toBe(200);
      const reply = await send(strict, sending, { ...sending.body, timeInForce: "FOK" });
      expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["timeInForce"]]);
    },
  );

  it.each(["positionClose", "venuetwoClose", "closeEverything"])(
    "%s knows reduceOnly, and refuses it where it is false",
    async (id) => {
      const sending = SENDING.find(({ operation }) => operation.id === id) as Sending;
      expect((await send(strict, sending, { ...sending.body, reduceOnly: true })).status).toBe(200);
      const reply = await send(strict, sending, { ...sending.body, reduceOnly: false });
      expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["reduceOnly"]]);
    },
  );

  it("positionOpen knows reduceOnly, and refuses it where it is true", async () => {
    const sending = SENDING.find(({ operation }) => operation.id === "positionOpen") as Sending;
    expect((await send(strict, sending, { ...sending.body, reduceOnly: false })).status).toBe(200);
    const reply = await send(strict, sending, { ...sending.body, reduceOnly: true });
    expect(refusedPaths(reply)).toEqual([400, "Invalid request parameters", ["reduceOnly"]]);
  });

  it("is accepted and ignored by venueone's close-all, and no other field is", async () => {
    const sending = SENDING.find(({ operation }) => operation.id === "venueoneCloseAll") as Sending;
    const spec = { symbol: "ETH", side: "SELL", type: "LIMIT", quantity: "x", price: "1" };
    expect((await send(strict, sending, { ...sending.body, ...spec })).status).toBe(200);
    expect(desk.calls[0]?.request).toMatchObject({ symbols: null });
    for (const field of ["dryRun", "symbols", "exchange", "exchanges", "sizePercent"])
      expect(refusedPaths(await send(strict, sending, { ...sending.body, [field]: null }))).toEqual([
        400,
        "Invalid request parameters",
        [field],
      ]);
  });
});

describe("the OpenAPI document", () => {
  async function bodies(harness: Harness): Promise<Map<string, unknown>> {
    const document = (await harness.client.get("/openapi.json")).body as {
      readonly paths: Record<
        string,
        Record<
          string,
          { operationId: string; requestBody?: { content: Record<string, { schema: { $ref?: string } }> } }
        >
      >;
      readonly components: { readonly schemas: Record<string, unknown> };
    };
    const found = new Map<string, unknown>();
    for (const methods of Object.values(document.paths))
      for (const operation of Object.values(methods)) {
        const schema = operation.requestBody?.content["application/json"]?.schema;
        const name = schema?.$ref?.split("/").at(-1);
        if (schema !== undefined)
          found.set(operation.operationId, name === undefined ? schema : document.components.schemas[name]);
      }
    return found;
  }

  it("closes the bodies of operations that send something, and leaves those of reads open", async () => {
    const schemas = await bodies(strict);
    for (const { operation } of SENDING)
      if (operation.body !== null) expect(schemas.get(operation.id)).toMatchObject({ additionalProperties: false });
    expect(schemas.get("positionClose")).toMatchObject({
      properties: {
        routingOptions: { additionalProperties: false },
        credentials: { additionalProperties: false, properties: { venueone: { additionalProperties: false } } },
      },
    });
    expect(schemas.get("allPositions")).not.toHaveProperty("additionalProperties");
  });

  it("leaves them open where STRICT_FIELDS is off", async () => {
    const schemas = await bodies(lenient);
    for (const schema of schemas.values()) expect(JSON.stringify(schema)).not.toContain('"additionalProperties":false');
  });
});
