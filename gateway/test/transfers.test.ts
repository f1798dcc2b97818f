/**
 * Routes of the money of server wallets over HTTP, every reply judged by the OpenAPI document: what reaches the desk, and
 * what is refused before it. The ledger behind it, with venues and chains, is in bench/test/system/money.test.ts.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import type { InternalRow } from "../../engine/transfers/transfer-row.js";
import type { Reply } from "./client.js";
import { createFakeMoneyDesk } from "./fake-money-desk.js";
import { type Harness, startHarness } from "./harness.js";
import { ALICE, ALICE_TRADES, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";
import { TestActs, TestWallets } from "./test-wallets.js";

const ELSEWHERE = "0x00000000000000000000000000000000000000dd";
const TRANSFER_ID = "7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f";
const ONE = 10n ** 18n;
const TWO = "/api/trading/venuetwo/withdraw";
const OTHER_ONE = "/api/trading/venueone/withdraw";
const MOVE = "/api/venuetwo/wallet/transfer";

const wallets = new TestWallets();
const money = createFakeMoneyDesk();
let harness: Harness;
let wallet: Wallet;
let other: Wallet;

beforeAll(async () => {
  harness = await startHarness({
    auth: createTestAuth(),
    wallets: { provider: wallets, appendAct: new TestActs().append },
    money,
  });
  wallet = await wallets.create("user-1", ALICE.ownerId);
  other = await wallets.create("user-2", ALICE.ownerId);
});
afterAll(() => harness.stop());
beforeEach(() => {
  money.asked.length = 0;
  money.rows.clear();
});

let lastMs = 0;
async function ask(target: string, body: unknown = null, by: TestKey = ALICE, headers = {}): Promise<Reply> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const method = body === null ? "GET" : "POST";
  const text = body === null ? undefined : JSON.stringify(body);
  const sent = text === undefined ? {} : { body: text };
  return harness.client.send(target, {
    ...{ method, ...sent },
    headers: {
      ...(text === undefined ? {} : { "content-type": "application/json" }),
      ...signed(by, { method, target, timestamp: lastMs, ...sent }),
      ...headers,
    },
  });
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = ({ body }: Reply) => body as unknown as Fields;
const coded = (reply: Reply) => shown(reply).slice(0, 2);
const shown = (reply: Reply) => [reply.status, fieldsOf(reply)["code"], fieldsOf(reply)["error"]];
const pathsOf = (reply: Reply) => {
  const { fields } = fieldsOf(reply)["details"] as { readonly fields: readonly { readonly path: string }[] };
  return [reply.status, fields.map(({ path }) => path)];
};
const deposit = (venue: string, change: Fields = {}) =>
  ask(`/api/trading/${venue}/deposit`, {
    ...{ walletIdOrAddress: "user-1", tokenSymbol: "usdt", amount: "25.5", network: "network_56" },
    ...change,
  });

describe("a deposit", () => {
  it.each(["network_56", "56", "bsc"])("over %s is of chain 56, and keeps the caller's word", async (network) => {
    expect((await deposit("venuetwo", { network })).status).toBe(200);
    expect(money.asked).toEqual([
      {
        act: "deposit",
        order: { venue: "venuetwo", chainId: 56, network, symbol: "USDT", amount: (51n * ONE) / 2n, broker: 1000 },
      },
    ]);
  });

  it("has the caller's broker where the venue knows one", async () => {
    await deposit("venuetwo", { broker: 7 });
    await deposit("venueone", { tokenSymbol: "USDC", network: "arbitrum", broker: 7 });
    expect(money.asked.map(({ order }) => (order as Fields)["broker"])).toEqual([7, null]);
  });

  it("that is a dry run asks for none", async () => {
    await deposit("venuetwo", { dryRun: true });
    expect(money.asked.map(({ act }) => act)).toEqual(["tryDeposit"]);
  });

  it.each([
    ["venueone", { tokenSymbol: "USDC", network: "network_56" }, ["network"]],
    ["venuetwo", { network: "polygon" }, ["network"]],
    ["venuetwo", { tokenSymbol: "USDC" }, ["tokenSymbol"]],
    ["venuetwo", { amount: "1e3" }, ["amount"]],
    // More than the contract's 256 bits, and more than a JSON number keeps.
    ["venuetwo", { broker: 1e78 }, ["broker"]],
    ["venuetwo", { broker: 2 ** 53 }, ["broker"]],
    ["venueone", { tokenSymbol: "USDC", network: "42161", amount: "7.0000001" }, ["amount"]],
  ])("at %s with %j is refused by name", async (venue, change, paths) => {
    expect(pathsOf(await deposit(venue, change))).toEqual([400, paths]);
    expect(money.asked).toEqual([]);
  });

  it("is checked in order: what is missing, the exchange, the wallet", async () => {
    expect(shown(await deposit("venuethree", { amount: null }))).toEqual([
      ...[400, "MISSING_PARAMETERS", "Missing required parameters"],
    ]);
    expect(shown(await deposit("venuethree", { walletIdOrAddress: "nobody" }))).toEqual([
      ...[400, "UNSUPPORTED_EXCHANGE", "Unsupported exchange"],
    ]);
    expect(shown(await deposit("venuetwo", { walletIdOrAddress: "nobody" }))).toEqual([
      ...[404, "WALLET_NOT_FOUND", "Wallet not found"],
    ]);
  });

  it("needs the scope `transfer`", async () => {
    const body = { walletIdOrAddress: "user-1" };
    expect(coded(await ask("/api/trading/venuetwo/deposit", body, ALICE_TRADES))).toEqual([403, "SCOPE_MISSING"]);
  });
});

describe("a transfer between accounts", () => {
  const body = { amount: "5", asset: "usdt", kindType: "FUTURE_SPOT" };

  it("is of the wallet that `walletId` or `address` names", async () => {
    for (const named of [{ walletId: wallet.walletId }, { address: wallet.address }])
      expect((await ask(MOVE, { ...body, ...named, clientTranId: "t-1" })).status).toBe(200);
    const order = { venue: "venuetwo", asset: "USDT", amount: "5", kindType: "FUTURE_SPOT", clientTranId: "t-1" };
    expect(money.asked).toEqual([
      { act: "move", order },
      { act: "move", order },
    ]);
  });

  it("is of one amount however that is written", async () => {
    for (const amount of ["5", "5.0", "5.00000000"])
      await ask(MOVE, { ...body, walletId: wallet.walletId, amount, clientTranId: "t-1" });
    expect(money.asked.map(({ order }) => (order as Fields)["amount"])).toEqual(["5", "5", "5"]);
  });

  it("without either is refused, and with two wallets too", async () => {
    expect(shown(await ask(MOVE, body))).toEqual([400, "MISSING_PARAMETERS", "Missing required parameters"]);
    const both = { ...body, walletId: wallet.walletId, address: other.address };
    expect(pathsOf(await ask(MOVE, both))).toEqual([400, ["address"]]);
    expect(coded(await ask(MOVE, { ...body, walletId: "user-1" }))).toEqual([404, "WALLET_NOT_FOUND"]);
    expect(money.asked).toEqual([]);
  });
});

describe("a withdrawal", () => {
  const two = () => ({
    ...{ walletAddress: wallet.address, chainId: 56, asset: "USDT", amount: "25000000000000000000" },
    ...{ receiver: wallet.address, accountType: "spot", broker: 1000 },
  });
  const one = { walletIdOrAddress: "user-1", destination: ELSEWHERE, amount: "25.5", chainId: 42_161 };
  const header = () => ({ "x-wallet-id": wallet.walletId });

  it("at venuetwo has raw units, and answers both forms", async () => {
    const reply = await ask(TWO, two());
    expect(fieldsOf(reply)).toMatchObject({
      ...{ success: true, withdrawalId: "18", status: "submitted", network: "network_56" },
      data: { withdrawalId: "18", status: "submitted", transferId: TRANSFER_ID },
    });
    expect(money.asked).toMatchObject([{ act: "withdraw", order: { amount: 25n * ONE, amountToCheck: 25n * ONE } }]);
  });

  it.each(["25.0", "0", "-5", "1e18"])("at venuetwo of %s is refused", async (amount) => {
    expect(pathsOf(await ask(TWO, { ...two(), amount }))).toEqual([400, ["amount"]]);
  });

  it.each([
    [undefined, 0n],
    ["0", 0n],
    ["1.1", 28_050_000n],
    ["1.00000001", 25_500_001n],
  ])("at venueone with the buffer %s has %s checked, exactly and rounded up", async (feeBuffer, amountToCheck) => {
    const body = feeBuffer === undefined ? one : { ...one, feeBuffer };
    expect((await ask(OTHER_ONE, body, ALICE, header())).status).toBe(200);
    expect(money.asked).toMatchObject([
      { order: { amount: 25_500_000n, amountToCheck, receiver: ELSEWHERE, accountType: null, symbol: "USDC" } },
    ]);
  });

  it("at venueone wants the header, of the wallet that the body names", async () => {
    expect(shown(await ask(OTHER_ONE, one))).toEqual([...[401, "MISSING_WALLET_HEADER", "Missing x-wallet-id header"]]);
    expect(shown(await ask(OTHER_ONE, one, ALICE, { "x-wallet-id": other.walletId }))).toEqual([
      ...[401, "INVALID_WALLET_ID", "Invalid wallet ID"],
    ]);
    expect(pathsOf(await ask(OTHER_ONE, { ...one, chainId: 56 }, ALICE, header()))).toEqual([400, ["chainId"]]);
  });
});

describe("money whose wallet the body names", () => {
  it.each([
    ["a deposit", "/api/trading/venuetwo/deposit", { tokenSymbol: "usdt", network: "network_56" }],
    ["a transfer", MOVE, { asset: "usdt", kindType: "FUTURE_SPOT" }],
    ["a withdrawal", TWO, { asset: "USDT", chainId: 56, accountType: "spot" }],
  ])("as %s is refused where x-wallet-id names another wallet", async (_, path, rest) => {
    const { address, walletId } = wallet;
    const names: Readonly<Record<string, object>> = {
      [MOVE]: { walletId },
      [TWO]: { walletAddress: address, receiver: address },
    };
    const body = { amount: "25", ...rest, ...(names[path] ?? { walletIdOrAddress: walletId }) };
    for (const name of [other.walletId, other.address, "user-9"])
      expect(coded(await ask(path, body, ALICE, { "x-wallet-id": name })), name).toEqual([401, "INVALID_WALLET_ID"]);
    expect(money.asked).toEqual([]);
    for (const name of [wallet.walletId, wallet.walletId.toUpperCase(), wallet.address])
      expect((await ask(path, body, ALICE, { "x-wallet-id": name })).status, name).toBe(200);
  });
});

describe("what became of a transfer", () => {
  const row = (): InternalRow => ({
    ...{ kind: "internal", transferId: TRANSFER_ID, ownerId: ALICE.ownerId, walletId: wallet.walletId },
    ...{ account: wallet.address.toLowerCase(), venue: "venuetwo", requestId: "r", createdAtMs: 5, updatedAtMs: 6 },
    ...{ state: "unknown", reason: null, reasonText: "", venueId: null, asset: "USDT", amount: "5" },
    ...{ kindType: "SPOT_FUTURE", clientTranId: "t-1", sentAtMs: 5, lastSentAtMs: 5, isRefusedAgain: false },
  });

  it("is its owner's; a stranger's answer is that of an unknown one", async () => {
    money.rows.set(TRANSFER_ID, row());
    const target = `/api/transfers/${TRANSFER_ID}`;
    expect(fieldsOf(await ask(target))["data"]).toMatchObject({ state: "unknown", kind: "internal", amount: "5" });
    const stranger = await ask(target, null, BOB);
    money.rows.clear();
    const unknown = await ask(target);
    expect(shown(stranger)).toEqual([404, "TRANSFER_NOT_FOUND", "No such transfer"]);
    expect(shown(unknown)).toEqual(shown(stranger));
    expect(fieldsOf(unknown)["details"]).toEqual(fieldsOf(stranger)["details"]);
    expect(shown(await ask("/api/transfers/none"))).toEqual(shown(stranger));
  });

  it("and what a wallet has is listed for its owner alone", async () => {
    money.rows.set(TRANSFER_ID, row());
    const base = "/api/wallets/user-1";
    const listed = fieldsOf(await ask(`${base}/transfers?limit=5`))["data"] as {
      readonly transfers: readonly Fields[];
    };
    expect(listed.transfers.map(({ transferId }) => transferId)).toEqual([TRANSFER_ID]);
    for (const cursor of ["x", "", "AAAA", "0000000000000001.7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f"])
      expect(pathsOf(await ask(`${base}/transfers?cursor=${cursor}`)), cursor).toEqual([400, ["cursor"]]);
    money.next = `0000000000000001/${TRANSFER_ID}`;
    const { nextCursor } = fieldsOf(await ask(`${base}/transfers?limit=1`))["data"] as { readonly nextCursor: string };
    expect(nextCursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expect((await ask(`${base}/transfers?limit=1&cursor=${nextCursor}`)).status).toBe(200);
    expect(money.afters.slice(-2)).toEqual([null, money.next]);
    money.next = null;
    expect(fieldsOf(await ask(`${base}/balances`))["data"]).toMatchObject({ walletId: wallet.walletId });
    for (const path of ["transfers", "balances"])
      expect(coded(await ask(`${base}/${path}`, null, BOB))).toEqual([404, "WALLET_NOT_FOUND"]);
  });
});
