/** The topic `transfers` over real sockets and keys, its ledger a real one: whose it is, and that REST says the same. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import type { InternalRow } from "../../engine/transfers/transfer-row.js";
import type { Frame } from "../stream/test/frame-judge.js";
import { StreamClient } from "../stream/test/stream-client.js";
import { createFakeMoneyDesk, type FakeMoneyDesk } from "./fake-money-desk.js";
import { type Harness, startHarness } from "./harness.js";
import {
  ALICE,
  ALICE_READS,
  ALICE_TRADES,
  BOB,
  createTestAuth,
  ONLY_ADMIN,
  signed,
  type TestAuth,
  type TestKey,
} from "./test-keys.js";
import { TestActs, TestWallets } from "./test-wallets.js";

let auth: TestAuth;
let money: FakeMoneyDesk;
let harness: Harness;
let wallet: Wallet;
let clients: StreamClient[] = [];

beforeEach(async () => {
  auth = createTestAuth();
  money = createFakeMoneyDesk();
  const provider = new TestWallets();
  harness = await startHarness({ auth, money, wallets: { provider, appendAct: new TestActs().append } });
  wallet = await provider.create("user-1", ALICE.ownerId);
  await provider.create("user-1", BOB.ownerId);
});
afterEach(async () => {
  for (const client of clients) await client.stop();
  clients = [];
  await harness.stop();
});

let lastMs = 0;
function headersOf(by: TestKey, target: string) {
  lastMs = Math.max(lastMs + 1, Date.now());
  return signed(by, { target, timestamp: lastMs });
}

async function opened(by: TestKey): Promise<StreamClient> {
  const client = await StreamClient.open(harness.server.port);
  clients.push(client);
  const headers = headersOf(by, "/ws");
  const claim = { op: "auth", apiKey: by.keyId, timestamp: lastMs, signature: headers["x-api-signature"] };
  expect((await client.ask(claim)).type).toBe("authenticated");
  return client;
}

let made = 0;
function rowOf({ walletId, ownerId, address }: Wallet): InternalRow {
  made++;
  return {
    ...{ kind: "internal", transferId: `7c1f0a3e-64a5-4c0b-9d5e-${made.toString(16).padStart(12, "0")}` },
    ...{ ownerId, walletId, account: address.toLowerCase(), venue: "venuetwo", requestId: "r", createdAtMs: made },
    ...{ updatedAtMs: made, state: "created", reason: null, reasonText: "", venueId: null, asset: "USDT" },
    ...{ amount: "5", kindType: "SPOT_FUTURE", clientTranId: `t-${made}`, sentAtMs: null, lastSentAtMs: null },
    isRefusedAgain: false,
  };
}

const TRANSFERS = { topic: "transfers" };
const codes = ({ type, code }: Frame) => [type, code];
interface Data {
  readonly transfers: readonly Record<string, unknown>[];
  readonly transfer: Record<string, unknown>;
}
const dataOf = ({ data }: Frame) => data as unknown as Data;

async function next(client: StreamClient, type: string): Promise<Frame> {
  return client.next((frame) => frame.type === type);
}

describe("transfers on the stream", () => {
  it("are what the route answers, in the snapshot and in each event", async () => {
    const row = rowOf(wallet);
    await money.ledger.create(row, []);
    const client = await opened(ALICE_READS);
    expect((await client.subscribe({ ...TRANSFERS, walletIdOrAddress: wallet.address })).type).toBe("subscribed");
    const asked = async (): Promise<unknown> => {
      const target = `/api/transfers/${row.transferId}`;
      const { body } = await harness.client.send(target, { headers: headersOf(ALICE, target) });
      return (body as unknown as { data: unknown }).data;
    };
    expect(dataOf(await next(client, "snapshot")).transfers).toEqual([await asked()]);
    await money.ledger.update(row, (one) => ({
      ...{ ...one, state: "confirmed", venueId: "17", updatedAtMs: 99, sentAtMs: 5, lastSentAtMs: 5 },
    }));
    const update = await next(client, "update");
    expect(update.data).toMatchObject({ event: "transfer.ended", transfer: { state: "confirmed", venueId: "17" } });
    expect(dataOf(update).transfer).toEqual(await asked());
  });

  it("need a key with the scope that the route needs", async () => {
    const client = await StreamClient.open(harness.server.port);
    clients.push(client);
    expect(codes(await client.ask({ op: "subscribe", ...TRANSFERS }))).toEqual(["error", "AUTH_REQUIRED"]);
    for (const key of [ALICE_TRADES, ONLY_ADMIN])
      expect(codes(await (await opened(key)).ask({ op: "subscribe", ...TRANSFERS }))).toEqual([
        "error",
        "SCOPE_MISSING",
      ]);
  });

  it("are their owner's alone: another one shares no key, no frame, no ring and no resume point", async () => {
    const alice = await opened(ALICE);
    const bob = await opened(BOB);
    const subOf = async (client: StreamClient, wish: object): Promise<string> =>
      (await client.ask({ op: "subscribe", ...TRANSFERS, ...wish })).subs[0]?.sub ?? "";
    const all = [await subOf(alice, {}), await subOf(bob, {})];
    expect(new Set(all).size).toBe(2);
    const one = await subOf(alice, { walletIdOrAddress: wallet.walletId });
    for (const name of [wallet.walletId, wallet.address])
      expect(codes(await bob.ask({ op: "subscribe", ...TRANSFERS, walletIdOrAddress: name }))).toEqual([
        ...["error", "WALLET_NOT_FOUND"],
      ]);
    await money.ledger.create(rowOf(wallet), []);
    await alice.next(({ type, sub }) => type === "update" && sub === one);
    const { epoch, seq } = alice.folds.get(one) ?? { epoch: "", seq: 0 };
    const never = `transfers:0x${"00".repeat(20)}#${"0".repeat(32)}`;
    const refusals: Frame[] = [];
    for (const sub of [one, all[0] ?? "", never])
      refusals.push(await bob.ask({ op: "resume", subs: [{ sub, epoch, seq }] }));
    for (const { type, code, error, details } of refusals)
      expect([type, code, error, Object.keys(details)]).toEqual([
        ...["error", "UNKNOWN_SUBSCRIPTION", refusals[2]?.error.replace(never, String(details["sub"])), ["sub"]],
      ]);
    // All that Bob was sent: what he asked for, and an empty snapshot.
    await bob.ask({ op: "ping" });
    expect(bob.frames.filter(({ type }) => type === "update")).toEqual([]);
    expect(bob.frames.filter(({ type }) => type === "snapshot").map((frame) => dataOf(frame).transfers)).toEqual([[]]);
  });

  it("are resumed with what came meanwhile, by another key of the owner as well", async () => {
    const alice = await opened(ALICE);
    const sub = (await alice.ask({ op: "subscribe", ...TRANSFERS })).subs[0]?.sub ?? "";
    const { epoch, seq } = await next(alice, "snapshot");
    await alice.stop();
    const row = rowOf(wallet);
    await money.ledger.create(row, []);
    const later = await opened(ALICE_READS);
    for (const [key, fold] of alice.folds) later.folds.set(key, fold);
    expect(await later.ask({ op: "resume", subs: [{ sub, epoch, seq }] })).toMatchObject({ subs: [{ missed: false }] });
    expect((await next(later, "update")).data).toMatchObject({
      ...{ event: "transfer.created", transfer: { transferId: row.transferId } },
    });
  });

  it("end with their key: 4401 when it is revoked", async () => {
    const alice = await opened(ALICE);
    await alice.ask({ op: "subscribe", ...TRANSFERS });
    auth.revoke(ALICE.keyId);
    expect(await alice.closed).toEqual({ code: 4401, reason: "KEY_REVOKED" });
  });
});
