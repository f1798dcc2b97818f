/** The write path: who may act, in which order refusals come, and their exact words. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentDigest, hashAction } from "../wire/signature.js";
import {
  addressOf,
  AGENT,
  ALICE,
  type Bench,
  BOB,
  btc,
  FIELDS,
  KEYS,
  orderAction,
  orderItem,
  sign,
  startBench,
  statuses,
} from "./kit.js";

const OK = { status: "ok", response: { type: "default" } };
const err = (response: string) => ({ status: "err", response });
const STRANGER = addressOf(KEYS.stranger);

let bench: Bench;
beforeEach(async () => {
  bench = await startBench();
});
afterEach(() => bench.stop());

describe("POST /exchange before execution", () => {
  const valid = () => ({
    action: orderAction([{ p: "80000", s: "0.01" }]),
    nonce: bench.nextNonce(),
    signature: { r: "0x1", s: "0x1", v: 27 },
  });

  it.each<[string, (body: Record<string, unknown>) => unknown]>([
    ["a root array", (body) => [body]],
    ["an unknown envelope key", (body) => ({ ...body, extra: 1 })],
    ["an unknown action key", (body) => ({ ...body, action: { type: "noop", extra: 1 } })],
    ["an unknown action type", (body) => ({ ...body, action: { type: "nope" } })],
    [
      "a price as a number",
      (body) => ({
        ...body,
        action: { type: "order", grouping: "na", orders: [{ ...orderItem({ p: "1", s: "1" }), p: 80000 }] },
      }),
    ],
    ["nine decimals", (body) => ({ ...body, action: orderAction([{ p: "1.123456789", s: "1" }]) })],
    ["a negative size", (body) => ({ ...body, action: orderAction([{ p: "1", s: "-1" }]) })],
    ["an exponent", (body) => ({ ...body, action: orderAction([{ p: "1e3", s: "1" }]) })],
    ["an empty size", (body) => ({ ...body, action: orderAction([{ p: "1", s: "" }]) })],
    ["an unknown time in force", (body) => ({ ...body, action: orderAction([{ p: "1", s: "1", tif: "Fok" }]) })],
    [
      "a market order type",
      (body) => ({
        ...body,
        action: { type: "order", grouping: "na", orders: [{ ...orderItem({ p: "1", s: "1" }), t: { market: {} } }] },
      }),
    ],
    ["an order id as text", (body) => ({ ...body, action: { type: "cancel", cancels: [{ a: 0, o: "12" }] } })],
    [
      "a fractional leverage",
      (body) => ({ ...body, action: { type: "updateLeverage", asset: 0, isCross: true, leverage: 2.5 } }),
    ],
    ["an upper-case 0X address", (body) => ({ ...body, vaultAddress: `0X${"a".repeat(40)}` })],
    ["a short cloid", (body) => ({ ...body, action: orderAction([{ p: "1", s: "1", c: "0x12" }]) })],
    ["no signature", (body) => ({ action: body.action, nonce: body.nonce })],
  ])("answers 422 for %s", async (_name, spoil) => {
    const reply = await bench.post("/exchange", JSON.stringify(spoil(valid())));
    expect(reply).toMatchObject({ status: 422, text: "Failed to deserialize the JSON body into the target type" });
    expect(reply.contentType).toContain("text/plain");
  });

  it("answers 400, 415, 404 and 405 like the venue's server", async () => {
    expect(await bench.post("/exchange", "{not json")).toMatchObject({
      status: 400,
      text: "Failed to parse the request body as JSON",
    });
    expect(await bench.post("/exchange", "{}", "text/plain")).toMatchObject({
      status: 415,
      text: "Expected request with `Content-Type: application/json`",
    });
    expect((await bench.post("/nowhere", "{}")).status).toBe(404);
    expect((await fetch(`${bench.sim.restUrl}/info`)).status).toBe(405);
    expect((await bench.post("/exchange", '{"action":{"type":"noop"},"action":{"type":"noop"}}')).status).toBe(422);
  });

  it("ignores unknown keys inside an order and text after the body", async () => {
    const action = orderAction([{ p: "80000", s: "0.01" }]);
    const posted = { ...action, orders: [{ ...orderItem({ p: "80000", s: "0.01" }), note: "ignored" }] };
    expect(statuses(await bench.act(KEYS.alice, action, { posted }))).toEqual([
      { resting: { oid: expect.any(Number) } },
    ]);
    expect((await bench.post("/exchange", `${JSON.stringify(valid())} trailing`)).status).toBe(200);
  });

  it("takes scalars stripped of leading zeros or padded to 32 bytes, with optional keys omitted", async () => {
    // Enough signatures that some have a leading zero digit.
    const seen = new Set<number>();
    for (let count = 0; count < 40; count++) {
      const action = { type: "noop" };
      const nonce = bench.nextNonce();
      const { r, s, v } = sign(KEYS.alice, agentDigest(hashAction(action, nonce, null, null), true));
      seen.add(r.length);
      const pad = (scalar: string): string => `0x${scalar.slice(2).padStart(64, "0")}`;
      const signature = count % 2 === 0 ? { r, s, v } : { r: pad(r), s: pad(s), v };
      expect((await bench.post("/exchange", JSON.stringify({ action, nonce, signature }))).json).toEqual(OK);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it("takes explicit nulls and missing optional keys alike", async () => {
    const nulls = { ...orderItem({ p: "80000", s: "0.01" }), c: null };
    const action = orderAction([{ p: "80000", s: "0.01" }]);
    expect(
      await bench.act(KEYS.alice, action, { posted: { ...action, orders: [nulls], builder: null } }),
    ).toMatchObject({ status: "ok" });
  });
});

describe("the signature check", () => {
  it("says when no signer can be recovered, before anything else", async () => {
    const body = { action: { type: "noop" }, nonce: 1, signature: { r: "0x5", s: "0x1", v: 27 } };
    expect((await bench.post("/exchange", JSON.stringify(body))).json).toEqual(err("Unable to recover signer."));
  });

  it("names the recovered stranger on trading actions, and asks for a deposit on user-signed ones", async () => {
    expect(await bench.act(KEYS.stranger, { type: "noop" })).toEqual(
      err(`User or API Wallet ${STRANGER} does not exist.`),
    );
    const send = { type: "usdSend", destination: BOB, amount: "1" };
    expect(await bench.actAsUser(KEYS.stranger, send, FIELDS.usdSend)).toEqual(
      err(`Must deposit before performing actions. User: ${STRANGER}`),
    );
  });

  it("takes a signature for the other network for a stranger's", async () => {
    expect(await bench.act(KEYS.alice, { type: "noop" }, { isMainnet: false })).toMatchObject({
      status: "err",
      response: expect.stringMatching(/^User or API Wallet 0x[0-9a-f]{40} does not exist\.$/),
    });
  });

  it("recovers a stranger from a cloid without 0x, which parses", async () => {
    const cloid = "0123456789abcdef0123456789abcdef";
    const reply = await bench.act(KEYS.alice, orderAction([{ p: "80000", s: "0.01", c: cloid }]));
    expect(reply).toMatchObject({ status: "err", response: expect.stringContaining("does not exist.") });
  });

  it("lets an agent trade for its account, but not act as it with user-signed actions", async () => {
    expect(await bench.act(KEYS.agent, orderAction([{ p: "80000", s: "0.01" }]))).toMatchObject({ status: "ok" });
    expect(await bench.info({ type: "openOrders", user: ALICE })).toHaveLength(1);
    expect(await bench.info({ type: "openOrders", user: AGENT })).toEqual([]);
    const send = { type: "usdSend", destination: BOB, amount: "1" };
    expect(await bench.actAsUser(KEYS.agent, send, FIELDS.usdSend)).toEqual(
      err(`Must deposit before performing actions. User: ${AGENT}`),
    );
    const asset = {
      type: "agentSendAsset",
      destination: BOB,
      sourceDex: "",
      destinationDex: "spot",
      token: "USDC",
      amount: "1",
      fromSubAccount: "",
    };
    const nonce = bench.nextNonce();
    expect(await bench.act(KEYS.agent, { ...asset, nonce }, { nonce })).toEqual(
      err("Agent can only send asset to same user or their sub-accounts."),
    );
  });

  it("names its master to a replaced agent and says to a revoked one that it does not exist", async () => {
    const approve = (agentAddress: string, agentName: string) =>
      bench.actAsUser(KEYS.alice, { type: "approveAgent", agentAddress, agentName }, FIELDS.approveAgent);
    const second = addressOf(`0x${"e5".repeat(32)}`);
    expect(await approve(second, "bot")).toEqual(OK);
    expect(await bench.act(KEYS.agent, { type: "noop" })).toEqual(
      err(`Must deposit before performing actions. User: ${ALICE}`),
    );
    expect(await bench.info({ type: "extraAgents", user: ALICE })).toEqual([
      { name: "bot", address: second, validUntil: expect.any(Number) },
    ]);
    expect(await approve(`0x${"0".repeat(40)}`, "bot")).toEqual(OK);
    expect(await bench.act(`0x${"e5".repeat(32)}`, { type: "noop" })).toEqual(
      err(`User or API Wallet ${second} does not exist.`),
    );
    expect(await approve(AGENT, "late")).toEqual(err("User has pending agent removal"));
    bench.clock.advance(5_001);
    expect(await approve(AGENT, "late")).toEqual(err("Extra agent already used."));
    expect(await approve(STRANGER, `late valid_until ${bench.clock.wallMs() - 1}`)).toEqual(
      err("Agent valid_until already expired."),
    );
  });

  it("drops agents with the last funds, and knows no account before the first", async () => {
    const stranger = addressOf(KEYS.stranger);
    const fund = (amount: string) =>
      bench.post("/_sim/accounts", JSON.stringify({ accountId: stranger, deposit: amount }));
    const agentAddress = addressOf(`0x${"e6".repeat(32)}`);
    const approve = (name: string) =>
      bench.actAsUser(KEYS.stranger, { type: "approveAgent", agentAddress, agentName: name }, FIELDS.approveAgent);
    const unfunded = err(`Must deposit before performing actions. User: ${stranger}`);
    expect(await approve("bot")).toEqual(unfunded);
    await fund("0");
    expect(await approve("bot")).toEqual(unfunded);
    expect(await bench.info({ type: "userRole", user: stranger })).toEqual({ role: "missing" });
    await fund("5");
    expect(await approve("bot")).toEqual(OK);
    expect(await bench.info({ type: "userRole", user: agentAddress })).toEqual({
      role: "agent",
      data: { user: stranger },
    });
    const send = { type: "usdSend", destination: BOB, amount: "5" };
    expect(await bench.actAsUser(KEYS.stranger, send, FIELDS.usdSend)).toEqual(OK);
    expect(await bench.info({ type: "extraAgents", user: stranger })).toEqual([]);
    expect(await bench.act(`0x${"e6".repeat(32)}`, { type: "noop" })).toEqual(
      err(`User or API Wallet ${agentAddress} does not exist.`),
    );
    const ledger = await bench.info({ type: "userNonFundingLedgerUpdates", user: stranger });
    expect(ledger).toMatchObject([
      { delta: { type: "deposit", usdc: "5.0" } },
      { delta: { type: "internalTransfer" } },
    ]);
  });

  it("accepts vaultAddress only for an account that the signer controls", async () => {
    expect(await bench.act(KEYS.alice, { type: "noop" }, { vaultAddress: BOB })).toEqual(
      err(`Vault not registered: ${BOB}`),
    );
    const created = await bench.act(KEYS.alice, { type: "createSubAccount", name: "desk" });
    const sub = (created as { response: { data: string } }).response.data;
    await bench.act(KEYS.alice, {
      type: "subAccountTransfer",
      subAccountUser: sub,
      isDeposit: true,
      usd: 5_000_000_000,
    });
    const placed = await bench.act(KEYS.agent, orderAction([{ p: "80000", s: "0.01" }]), { vaultAddress: sub });
    expect(statuses(placed)).toEqual([{ resting: { oid: expect.any(Number) } }]);
    expect(await bench.info({ type: "openOrders", user: sub })).toHaveLength(1);
    expect(await bench.info({ type: "userRole", user: sub })).toEqual({ role: "subAccount", data: { master: ALICE } });
    expect(await bench.act(KEYS.bob, { type: "noop" }, { vaultAddress: sub })).toEqual(
      err(`Vault not registered: ${sub}`),
    );
  });
});

describe("nonces and expiry", () => {
  it("consumes a nonce by success, by refusal and by expiry, and by nothing earlier", async () => {
    const nonce = bench.nextNonce();
    expect(await bench.act(KEYS.stranger, { type: "noop" }, { nonce })).toMatchObject({ status: "err" });
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce, vaultAddress: BOB })).toMatchObject({
      response: `Vault not registered: ${BOB}`,
    });
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce })).toEqual(OK);
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce })).toEqual(
      err(`Invalid nonce: duplicate nonce ${nonce}`),
    );
    const expired = bench.nextNonce();
    const expiresAfter = bench.clock.wallMs() - 1;
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce: expired, expiresAfter })).toEqual(
      err("Action already expired"),
    );
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce: expired })).toEqual(
      err(`Invalid nonce: duplicate nonce ${expired}`),
    );
  });

  it("keeps one set per signer, and bounds it in time", async () => {
    const nonce = bench.nextNonce();
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce })).toEqual(OK);
    expect(await bench.act(KEYS.agent, { type: "noop" }, { nonce })).toEqual(OK);
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce: 5 })).toMatchObject({
      response: expect.stringMatching(/^Invalid nonce: nonce too low 5 < \d+$/),
    });
    const far = bench.clock.wallMs() + 86_400_000;
    expect(await bench.act(KEYS.alice, { type: "noop" }, { nonce: far })).toMatchObject({
      response: expect.stringMatching(`^Invalid nonce: nonce too high ${far} > \\d+$`),
    });
  });

  it("executes an expiring action in time", async () => {
    expect(await bench.act(KEYS.alice, { type: "noop" }, { expiresAfter: bench.clock.wallMs() + 1000 })).toEqual(OK);
  });
});

describe("account actions", () => {
  it("sends, withdraws and moves between classes, with ledger rows that carry the nonce", async () => {
    expect(
      await bench.actAsUser(KEYS.alice, { type: "usdSend", destination: BOB, amount: "250.5" }, FIELDS.usdSend),
    ).toEqual(OK);
    expect(await bench.info({ type: "clearinghouseState", user: BOB })).toMatchObject({ withdrawable: "100250.5" });
    const nonce = bench.nextNonce();
    expect(
      await bench.actAsUser(KEYS.alice, { type: "withdraw3", destination: ALICE, amount: "100" }, FIELDS.withdraw3, {
        nonce,
      }),
    ).toEqual(OK);
    expect(
      await bench.actAsUser(
        KEYS.alice,
        { type: "usdClassTransfer", amount: "500", toPerp: true },
        FIELDS.usdClassTransfer,
      ),
    ).toEqual(OK);
    expect(await bench.info({ type: "clearinghouseState", user: ALICE })).toMatchObject({ withdrawable: "100149.5" });
    expect(await bench.info({ type: "spotClearinghouseState", user: ALICE })).toEqual({ balances: [] });
    const rows = (await bench.info({ type: "userNonFundingLedgerUpdates", user: ALICE })) as { delta: unknown }[];
    expect(rows.map((row) => row.delta)).toEqual([
      { type: "deposit", usdc: "100000.0" },
      { type: "internalTransfer", usdc: "250.5", user: ALICE, destination: BOB, fee: "0.0" },
      { type: "withdraw", usdc: "99.0", nonce, fee: "1.0" },
      { type: "accountClassTransfer", usdc: "500.0", toPerp: true },
    ]);
  });

  it.each<[string, Record<string, unknown>, keyof typeof FIELDS, string]>([
    [
      "more than the balance",
      { type: "withdraw3", destination: ALICE, amount: "999999" },
      "withdraw3",
      "Insufficient balance for withdrawal.",
    ],
    ["eight decimals", { type: "usdSend", destination: BOB, amount: "1.00000001" }, "usdSend", "Invalid send"],
    ["zero", { type: "usdSend", destination: BOB, amount: "0" }, "usdSend", "Send amount cannot be zero"],
    ["no number", { type: "usdSend", destination: BOB, amount: "ten" }, "usdSend", "Invalid decimal number"],
    [
      "more than the class holds",
      { type: "usdClassTransfer", amount: "501", toPerp: true },
      "usdClassTransfer",
      "Insufficient balance for token transfer",
    ],
  ])("refuses to move %s", async (_name, action, fields, text) => {
    expect(await bench.actAsUser(KEYS.alice, action, FIELDS[fields])).toEqual(err(text));
  });

  it("opens an account by a send and charges its activation", async () => {
    expect(
      await bench.actAsUser(KEYS.alice, { type: "usdSend", destination: STRANGER, amount: "50" }, FIELDS.usdSend),
    ).toEqual(OK);
    expect(await bench.info({ type: "clearinghouseState", user: STRANGER })).toMatchObject({ withdrawable: "50.0" });
    expect(await bench.info({ type: "clearinghouseState", user: ALICE })).toMatchObject({ withdrawable: "99949.0" });
    expect(await bench.info({ type: "userRole", user: STRANGER })).toEqual({ role: "user" });
  });

  it("refuses a class transfer of a unified account", async () => {
    const fields = [
      { name: "user", type: "address" },
      { name: "abstraction", type: "string" },
      { name: "nonce", type: "uint64" },
    ] as const;
    expect(
      await bench.actAsUser(
        KEYS.alice,
        { type: "userSetAbstraction", user: ALICE, abstraction: "unifiedAccount" },
        fields,
      ),
    ).toEqual(OK);
    const transfer = { type: "usdClassTransfer", amount: "1", toPerp: true };
    expect(await bench.actAsUser(KEYS.alice, transfer, FIELDS.usdClassTransfer)).toEqual(
      err("Action disabled when unified account is active"),
    );
  });

  it("sets leverage within the coin's maximum and keeps the margin type while a position is open", async () => {
    const lever = (leverage: number, isCross: boolean) =>
      bench.act(KEYS.alice, { type: "updateLeverage", asset: 0, isCross, leverage });
    expect(await lever(40, true)).toEqual(OK);
    expect(await lever(41, true)).toMatchObject({ status: "err" });
    const { ask } = btc(bench);
    await bench.act(KEYS.alice, orderAction([{ p: String(Math.ceil(ask * 1.01)), s: "0.01", tif: "Ioc" }]));
    expect(await lever(10, true)).toEqual(OK);
    expect(await lever(10, false)).toEqual(err("Cannot switch leverage type with open position."));
    const add = { type: "updateIsolatedMargin", asset: 0, isBuy: true, ntli: 1_000_000 };
    expect(await bench.act(KEYS.alice, add)).toEqual(err("Position does not use isolated margin."));
    expect(await bench.act(KEYS.bob, { type: "updateLeverage", asset: 0, isCross: false, leverage: 5 })).toEqual(OK);
    await bench.act(KEYS.bob, orderAction([{ p: String(Math.ceil(ask * 1.01)), s: "0.01", tif: "Ioc" }]));
    expect(await bench.act(KEYS.bob, add)).toEqual(OK);
    const state = (await bench.info({ type: "clearinghouseState", user: BOB })) as {
      assetPositions: { position: unknown }[];
    };
    expect(state.assetPositions[0]?.position).toMatchObject({
      leverage: { type: "isolated", value: 5, rawUsd: expect.any(String) },
    });
  });

  it("opens the dead man's switch only after a million of volume, and then fires it", async () => {
    expect(await bench.act(KEYS.alice, { type: "scheduleCancel" })).toEqual(
      err("Cannot set scheduled cancel time until enough volume traded. Required: $1000000. Traded: $0.00."),
    );
    const carol = `0x${"ca".repeat(32)}` as const;
    bench.sim.addAccount({ address: addressOf(carol), deposit: "10000", volume: "1000000" });
    await bench.act(carol, orderAction([{ p: "80000", s: "0.01" }]));
    expect(await bench.act(carol, { type: "scheduleCancel", time: bench.clock.wallMs() + 4_999 })).toMatchObject({
      status: "err",
    });
    expect(await bench.act(carol, { type: "scheduleCancel", time: bench.clock.wallMs() + 5_000 })).toEqual(OK);
    bench.clock.advance(6_000);
    expect(await bench.info({ type: "openOrders", user: addressOf(carol) })).toEqual([]);
    expect(await bench.info({ type: "historicalOrders", user: addressOf(carol) })).toMatchObject([
      { status: "scheduledCancel" },
    ]);
  });

  it("tops an isolated position up to a target leverage, and takes nothing out", async () => {
    const topUp = (key: `0x${string}`, leverage: string) =>
      bench.act(key, { type: "topUpIsolatedOnlyMargin", asset: 0, leverage });
    const buy = orderAction([{ p: String(Math.ceil(btc(bench).ask * 1.01)), s: "0.01", tif: "Ioc" }]);
    await bench.act(KEYS.alice, buy);
    expect(await topUp(KEYS.alice, "2")).toEqual(err("Position does not use isolated margin."));
    await bench.act(KEYS.bob, { type: "updateLeverage", asset: 0, isCross: false, leverage: 5 });
    expect(await topUp(KEYS.bob, "2")).toMatchObject({ status: "err" });
    await bench.act(KEYS.bob, buy);
    const held = async (): Promise<{ used: number; value: number }> => {
      const state = (await bench.info({ type: "clearinghouseState", user: BOB })) as {
        assetPositions: { position: { marginUsed: string; positionValue: string } }[];
      };
      const position = state.assetPositions[0]?.position;
      return { used: Number(position?.marginUsed), value: Number(position?.positionValue) };
    };
    expect(await topUp(KEYS.bob, "2.5")).toEqual(OK);
    const topped = await held();
    expect(topped.used).toBeCloseTo(topped.value / 2.5, 5);
    expect(await topUp(KEYS.bob, "4")).toEqual(OK);
    expect(await held()).toEqual(topped);
    // More than the account has.
    expect(await topUp(KEYS.bob, "0.001")).toMatchObject({ status: "err" });
    expect(await topUp(KEYS.bob, "0")).toMatchObject({ status: "err" });
    expect(await held()).toEqual(topped);
  });
});

describe("request budgets", () => {
  it("answers 429 null past the weight of an IP's minute, and again once the minute is over", async () => {
    await bench.stop();
    bench = await startBench({ limits: { ipWeightPerMinute: 60 } });
    for (let count = 0; count < 3; count++) expect((await bench.post("/info", '{"type":"meta"}')).status).toBe(200);
    expect(await bench.post("/info", '{"type":"allMids"}')).toMatchObject({ status: 429, text: "null" });
    expect((await bench.post("/exchange", "{}")).status).toBe(429);
    bench.clock.advance(61_000);
    expect((await bench.post("/info", '{"type":"allMids"}')).status).toBe(200);
  });

  it("refuses an account past its requests, lets one through per ten seconds, and keeps a cap of their own for cancels", async () => {
    await bench.stop();
    bench = await startBench({ limits: { addressRequests: 2, ipWeightPerMinute: 1_000_000 } });
    const noop = () => bench.act(KEYS.alice, { type: "noop" });
    expect([await noop(), await noop(), await noop()]).toEqual([OK, OK, OK]);
    const text =
      "Too many cumulative requests sent (3 > 2) for cumulative volume traded $0.00. Place taker orders to free up 1 request per USDC traded.";
    expect(await noop()).toEqual(err(text));
    expect(await bench.act(KEYS.alice, { type: "cancel", cancels: [{ a: 0, o: 1 }] })).toMatchObject({ status: "ok" });
    bench.clock.advance(10_001);
    expect(await noop()).toEqual(OK);
    expect(await bench.act(KEYS.alice, { type: "reserveRequestWeight", weight: 10 })).toEqual(
      err(text.replace("(3", "(5")),
    );
    expect(await bench.info({ type: "userRateLimit", user: ALICE })).toMatchObject({
      cumVlm: "0.0",
      nRequestsUsed: 5,
      nRequestsCap: 2,
    });
  });
});
