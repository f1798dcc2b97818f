/** Transfers of server wallets on virtual time: what a caller sees, in which order, and how it continues after a cut. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Wallet } from "../../../engine/custody/provider/wallet-provider.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { ENDED_SHOWN_MAX } from "../../../schemas/stream-transfers.js";
import { transferView } from "../../accounts/transfer-views.js";
import { RING_AGE_MS, RING_EVENTS_MAX } from "../frame-ring.js";
import type { Frame } from "./frame-judge.js";
import { TestLedger } from "./transfer-ledger.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

let ledger: TestLedger;
let stream: VirtualStream;
let wallet: Wallet;

beforeEach(() => {
  ledger = new TestLedger();
  stream = new VirtualStream({}, () => ledger.parts);
  wallet = ledger.wallet();
});

interface Data {
  readonly transfers?: readonly Record<string, unknown>[];
  readonly event?: string;
  readonly transfer?: Record<string, unknown>;
}
const dataOf = (frame: Frame | undefined) => (frame?.data ?? {}) as unknown as Data;
const shownOf = (frame: Frame | undefined) => dataOf(frame).transfers?.map(({ transferId }) => transferId);
const eventOf = (frame: Frame) => [dataOf(frame).event, dataOf(frame).transfer?.["transferId"]];
const ofType = (client: VirtualClient, type: string) => client.frames.filter((frame) => frame.type === type);

function ask(client: VirtualClient, walletIdOrAddress?: string): void {
  client.op({
    op: "subscribe",
    id: "5",
    topic: "transfers",
    ...(walletIdOrAddress === undefined ? {} : { walletIdOrAddress }),
  });
}

async function subscribed(client: VirtualClient, name?: string): Promise<string> {
  ask(client, name);
  await stream.advanceAsync(20);
  const answer = client.frames.find(({ id }) => id === "5");
  if (answer?.type !== "subscribed") throw new Error(JSON.stringify(answer));
  return answer.subs[0]?.sub ?? "";
}

async function resumed(client: VirtualClient, sub: string): Promise<Frame | undefined> {
  const { epoch, seq } = client.folds.get(sub) ?? { epoch: "none", seq: 0 };
  client.op({ op: "resume", id: "r", subs: [{ sub, epoch, seq }] });
  await stream.advanceAsync(20);
  return client.frames.find(({ id }) => id === "r");
}

describe("the snapshot of transfers", () => {
  it("has all open rows and the newest ended ones, newest first, as the route answers them", async () => {
    const open = (await ledger.create(wallet)).transferId;
    const ended: string[] = [];
    for (let count = 0; count < ENDED_SHOWN_MAX + 3; count++) ended.unshift(await ledger.ended(wallet));
    const newest = (await ledger.create(wallet)).transferId;
    const client = stream.connect();
    const sub = await subscribed(client);
    const [snapshot] = ofType(client, "snapshot");
    expect(shownOf(snapshot)).toEqual([newest, ...ended.slice(0, ENDED_SHOWN_MAX), open]);
    const row = await ledger.book.find(newest);
    expect(dataOf(snapshot).transfers?.[0]).toEqual(row === null ? null : transferView(row, new Map()));
    expect(client.folds.get(sub)?.seq).toBe(1);
  });

  it("of one wallet has nothing of another, by whichever name; each name is the same key", async () => {
    const other = ledger.wallet();
    const mine = (await ledger.create(wallet)).transferId;
    await ledger.ended(other);
    const subs: string[] = [];
    for (const name of [wallet.walletId, wallet.address, wallet.address.toLowerCase(), wallet.userId]) {
      const client = stream.connect();
      subs.push(await subscribed(client, name));
      expect(shownOf(ofType(client, "snapshot")[0])).toEqual([mine]);
      await ledger.create(other);
      await stream.advanceAsync(20);
      expect(ofType(client, "update")).toEqual([]);
    }
    expect(new Set(subs)).toEqual(new Set([`transfers:${wallet.address.toLowerCase()}#${subs[0]?.slice(-32)}`]));
  });

  it("waits for a store that cannot be read, and is never empty for that reason", async () => {
    const transferId = await ledger.ended(wallet);
    let failures = 2;
    ledger.held = async (call) => {
      if (call === "read" && failures-- > 0) throw new ServiceError("STORE_UNAVAILABLE", { reason: "READ_FAILED" });
    };
    const client = stream.connect();
    const sub = await subscribed(client);
    await stream.advanceAsync(900);
    expect(ofType(client, "snapshot")).toEqual([]);
    await stream.advanceAsync(5_000);
    expect(ofType(client, "heartbeat")[0]?.heads[sub]).toBeDefined();
    expect(ofType(client, "snapshot").map(shownOf)).toEqual([[transferId]]);
  });

  it("of a wallet that the caller does not have is refused as one that nobody has", async () => {
    const foreign = ledger.wallet("somebody");
    const client = stream.connect();
    for (const name of [foreign.walletId, foreign.address, "nobody"]) ask(client, name);
    ask(client, "..");
    await stream.advanceAsync(20);
    const errors = ofType(client, "error");
    expect(errors.map(({ code }) => code)).toEqual([...Array(3).fill("WALLET_NOT_FOUND"), "INVALID_PARAMETERS"]);
    expect(errors[0]).toEqual({ ...errors[2], ts: errors[0]?.ts });
  });
});

describe("the events of transfers", () => {
  it("are one a change, in order and never merged: created, changed, ended", async () => {
    const client = stream.connect();
    const late = stream.connect();
    await subscribed(client);
    const { transferId } = await ledger.create(wallet);
    for (const state of ["broadcast", "unknown", "broadcast"] as const) await ledger.change(transferId, state);
    // All of them in one turn.
    await stream.advanceAsync(20);
    await subscribed(late);
    await ledger.change(transferId, "failed");
    await stream.advanceAsync(20);
    const updates = ofType(client, "update");
    expect(updates.map(eventOf)).toEqual([
      ["transfer.created", transferId],
      ...Array(3).fill(["transfer.changed", transferId]),
      ["transfer.ended", transferId],
    ]);
    expect(updates.map((frame) => dataOf(frame).transfer?.["state"])).toEqual([
      ...["created", "broadcast", "unknown", "broadcast", "failed"],
    ]);
    expect(ofType(late, "snapshot").map(shownOf)).toEqual([[transferId]]);
    expect(ofType(late, "update").map(eventOf)).toEqual([["transfer.ended", transferId]]);
  });

  it("that come while the snapshot is read are in it or after it, never both and never neither", async () => {
    const open = (await ledger.create(wallet)).transferId;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    ledger.held = (call) => (call === "read" ? released : Promise.resolve());
    const client = stream.connect();
    await subscribed(client);
    await ledger.change(open, "broadcast");
    await ledger.change(open, "confirmed");
    const { transferId } = await ledger.create(wallet);
    expect(ofType(client, "snapshot")).toEqual([]);
    release();
    await stream.advanceAsync(20);
    await ledger.change(transferId, "broadcast");
    await stream.advanceAsync(20);
    const [snapshot] = ofType(client, "snapshot");
    expect(dataOf(snapshot).transfers?.map((row) => [row["transferId"], row["state"]])).toEqual([
      [transferId, "created"],
      [open, "confirmed"],
    ]);
    expect(ofType(client, "update").map(eventOf)).toEqual([["transfer.changed", transferId]]);
  });

  it("of a row that the store has, and that is not acknowledged yet, come after the snapshot", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    ledger.held = (call) => (call === "read" ? Promise.resolve() : released);
    const creating = ledger.create(wallet);
    await stream.advanceAsync(20);
    const client = stream.connect();
    await subscribed(client);
    expect(ofType(client, "snapshot").map(shownOf)).toEqual([[]]);
    release();
    const { transferId } = await creating;
    await stream.advanceAsync(20);
    expect(ofType(client, "update").map(eventOf)).toEqual([["transfer.created", transferId]]);
  });

  it("beyond those that are kept in one turn are a resync and a snapshot", async () => {
    const client = stream.connect();
    const sub = await subscribed(client);
    const { transferId } = await ledger.create(wallet);
    for (let count = 0; count <= RING_EVENTS_MAX; count++) await ledger.change(transferId, "broadcast");
    await stream.advanceAsync(20);
    expect(client.frames.map(({ type }) => type)).toEqual(["subscribed", "snapshot", "resync", "snapshot"]);
    const shown = client.folds.get(sub)?.rows.get(transferId);
    expect(shown?.["updatedAt"]).toBe(ledger.book.current(transferId)?.updatedAtMs);
    await ledger.change(transferId, "confirmed");
    await stream.advanceAsync(20);
    expect(client.frames.slice(4).map(eventOf)).toEqual([["transfer.ended", transferId]]);
  });
});

describe("a resumed subscription to transfers", () => {
  it("gets what it missed while nobody listened, each event unchanged, and no snapshot", async () => {
    const first = stream.connect();
    const sub = await subscribed(first);
    const { transferId } = await ledger.create(wallet);
    await stream.advanceAsync(20);
    first.cut();
    await stream.advanceAsync(1_000);
    await ledger.change(transferId, "broadcast");
    await stream.advanceAsync(RING_AGE_MS - 60_000);
    await ledger.change(transferId, "confirmed");
    const second = stream.connect(first.folds);
    expect(await resumed(second, sub)).toMatchObject({ subs: [{ sub, missed: false, seq: 2 }] });
    expect(ofType(second, "update").map(eventOf)).toEqual([
      ["transfer.changed", transferId],
      ["transfer.ended", transferId],
    ]);
    expect(ofType(second, "snapshot")).toEqual([]);
    await ledger.create(wallet);
    await stream.advanceAsync(20);
    expect(second.folds.get(sub)?.seq).toBe(5);
  });

  it.each([
    ["more than the ring keeps", async (id: string) => changes(id, RING_EVENTS_MAX + 1)],
    [
      "what is older than the ring keeps",
      async (id: string) => {
        await changes(id, 1);
        await stream.advanceAsync(RING_AGE_MS);
      },
    ],
  ])("gets a snapshot with the reason where it missed %s", async (_, miss) => {
    const first = stream.connect();
    const stays = stream.connect();
    const sub = await subscribed(first);
    await subscribed(stays);
    const { transferId } = await ledger.create(wallet);
    await stream.advanceAsync(20);
    first.cut();
    await miss(transferId);
    await stream.advanceAsync(20);
    const second = stream.connect(first.folds);
    expect(await resumed(second, sub)).toMatchObject({ subs: [{ sub, missed: true }] });
    expect(ofType(second, "snapshot")).toMatchObject([{ reason: "RESUME_MISS" }]);
    expect(second.folds.get(sub)?.rows).toEqual(stays.folds.get(sub)?.rows);
  });

  it("has another epoch once nobody has come back in time, and its feed hears no more", async () => {
    const first = stream.connect();
    const sub = await subscribed(first);
    const epoch = first.folds.get(sub)?.epoch;
    first.cut();
    await stream.advanceAsync(RING_AGE_MS + 1_000);
    let heard = 0;
    const end = ledger.book.listen(() => void heard++);
    const { transferId } = await ledger.create(wallet);
    end();
    expect([heard, stream.hub.keys.get(sub)]).toEqual([1, undefined]);
    const second = stream.connect(first.folds);
    const answer = await resumed(second, sub);
    expect(answer?.subs[0]).toMatchObject({ missed: true });
    expect(answer?.subs[0]?.epoch).not.toBe(epoch);
    expect(ofType(second, "snapshot").map(shownOf)).toEqual([[transferId]]);
  });

  async function changes(transferId: string, count: number): Promise<void> {
    for (let made = 0; made < count; made++) {
      await ledger.change(transferId, "broadcast");
      if (made % 100 === 0) await stream.advanceAsync(10);
    }
  }
});

describe("subscribers of transfers", () => {
  it.each(Array.from({ length: 20 }, (_, index) => Number(process.env["FUZZ_SEED"] ?? index + 1)))(
    "miss no change and see none twice, however reads, commits, cuts and resumes fall together (seed %d)",
    async (seed) => {
      const random = createSeededRandom(seed);
      const draw = (below: number) => Math.floor(random.next() * below);
      ledger.held = () =>
        new Promise((resolve) => {
          stream.clock.setTimer(resolve, draw(3) === 0 ? draw(60) : 0);
        });
      const wallets = [wallet, ledger.wallet()];
      const open = new Set<string>();
      const busy = new Set<string>();
      const clients: { client: VirtualClient; sub: string }[] = [];
      const lost: { client: VirtualClient; sub: string }[] = [];
      for (let step = 0; step < 80; step++) {
        const act = draw(10);
        if (act < 2) void ledger.create(wallets[draw(2)] as Wallet).then(({ transferId }) => open.add(transferId));
        else if (act < 7) {
          const transferId = [...open].filter((id) => !busy.has(id))[draw(3)];
          if (transferId === undefined) continue;
          const state = (["broadcast", "unknown", "confirmed", "failed"] as const)[draw(4)] ?? "broadcast";
          busy.add(transferId);
          if (state === "confirmed" || state === "failed") open.delete(transferId);
          void ledger.change(transferId, state).then(() => busy.delete(transferId));
        } else if (act === 7 && clients.length < 4) {
          const client = stream.connect();
          follow(client);
          ask(client, [undefined, wallet.walletId][draw(2)]);
          await stream.advanceAsync(10);
          const sub = ofType(client, "subscribed")[0]?.subs[0]?.sub ?? "";
          clients.push({ client, sub });
        } else if (act === 8 && clients.length > 0) {
          const [one] = clients.splice(draw(clients.length), 1);
          if (one === undefined) continue;
          one.client.cut();
          if (one.client.folds.has(one.sub)) lost.push(one);
        } else if (act === 9 && lost.length > 0) {
          const [one] = lost.splice(draw(lost.length), 1);
          if (one === undefined) continue;
          const client = stream.connect(one.client.folds);
          follow(client, one.client);
          await resumed(client, one.sub);
          clients.push({ client, sub: one.sub });
        }
        await stream.advanceAsync(draw(3) * 10);
      }
      await stream.advanceAsync(500);
      ledger.held = async () => {};
      for (const { client, sub } of clients) {
        const fold = client.folds.get(sub);
        for (const row of ledger.book.open())
          if (sub.startsWith("transfers:all") || row.walletId === wallet.walletId)
            expect(fold?.rows.get(row.transferId)).toEqual(transferView(row, new Map()));
        for (const [transferId, shown] of fold?.rows ?? []) {
          const row = await ledger.book.find(transferId);
          expect(shown).toEqual(row === null ? null : transferView(row, new Map()));
        }
      }
    },
  );

  /** The time of a row counts its changes: each that a client sees is the next one of what it had. */
  function follow(client: VirtualClient, before?: VirtualClient): void {
    const seen = new Map<string, number>(before === undefined ? [] : (seenBy.get(before) ?? []));
    seenBy.set(client, seen);
    client.onFrame = (frame) => {
      if (frame.type === "snapshot") seen.clear();
      const { transfers, event, transfer } = dataOf(frame);
      if (frame.type !== "snapshot" && frame.type !== "update") return;
      for (const row of transfers ?? [transfer ?? {}]) {
        const id = String(row["transferId"]);
        const change = row["updatedAt"] as number;
        if (event !== undefined && change !== (seen.get(id) ?? 0) + 1)
          throw new Error(`change ${change} of ${id} after ${seen.get(id) ?? "none"}`);
        seen.set(id, change);
      }
    };
  }
  const seenBy = new WeakMap<VirtualClient, Map<string, number>>();
});
