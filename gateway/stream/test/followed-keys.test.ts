/** Subscriptions of a server wallet over the life of its keys: the first one, the next one, and none any more. */
import { beforeEach, describe, expect, it } from "vitest";
import type { FakeAccount } from "../../../engine/portfolio/test/fake-accounts.js";
import type { Frame } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET_ID = "11111111-2222-4333-8444-555555555555";

type Blocks = Record<string, { apiKey: string; apiSecret: string }>;

let stream: VirtualStream;
/** By a stream, and by reads. */
let alice: FakeAccount;
let bob: FakeAccount;
let blocks: Blocks;
let hear: Set<() => void>;

beforeEach(() => {
  stream = new VirtualStream();
  alice = stream.accounts.one.addAccount("alice", "one");
  bob = stream.accounts.two.addAccount("bob", "one");
  blocks = {};
  hear = new Set();
  stream.wallets = (walletId, ownerId) =>
    walletId === WALLET_ID && ownerId === null
      ? {
          walletId,
          address: WALLET,
          blocks: () => blocks,
          listen: (one) => {
            hear.add(one);
            return () => void hear.delete(one);
          },
        }
      : null;
});

/** The wallet trades with this key from here on; null: with none. */
function trade(account: FakeAccount, secret: string | null): void {
  const venue = account === alice ? "venueone" : "venuetwo";
  blocks = { ...blocks };
  if (secret === null) delete blocks[venue];
  else {
    account.secrets.add(secret);
    blocks[venue] = { apiKey: account.id, apiSecret: secret };
  }
  for (const one of hear) one();
}

async function subscribe(
  client: VirtualClient,
  topic: "positions" | "orders",
  exchanges: readonly string[],
): Promise<string> {
  client.op({ op: "subscribe", id: topic, topic, walletAddress: WALLET, exchanges, walletId: WALLET_ID });
  await stream.advanceAsync(200);
  const answer = client.frames.find((frame) => frame.id === topic);
  if (answer?.type !== "subscribed") throw new Error(JSON.stringify(answer));
  return answer.subs[0]?.sub ?? "";
}

const framesOf = (client: VirtualClient, sub: string): Frame[] => client.frames.filter((frame) => frame.sub === sub);
const sizes = (client: VirtualClient, sub: string) =>
  [...(client.folds.get(sub)?.rows.values() ?? [])].map((row) => [row["exchange"], row["size"]]);
const events = (client: VirtualClient, sub: string) => (client.folds.get(sub)?.events ?? []).map(([event]) => event);
const sessionsOpen = () => [stream.accounts.one.sessionsOpen, stream.accounts.two.sessionsOpen];
/** Coverage states that the frames told of a venue, in order. */
const states = (client: VirtualClient, sub: string, venue: string) =>
  framesOf(client, sub).flatMap(({ data }) => {
    const coverage = (data as { coverage?: Record<string, { state: string }> } | undefined)?.coverage?.[venue];
    return coverage === undefined ? [] : [coverage.state];
  });

describe("positions of a wallet", () => {
  it.each([
    ["venueone", () => alice],
    ["venuetwo", () => bob],
  ] as const)(
    "at %s go on over a rotation: the former key ends, and nothing is missed or closed",
    async (venue, of) => {
      const account = of();
      trade(account, "one");
      account.hold("BTC", 10);
      const client = stream.connect();
      const sub = await subscribe(client, "positions", [venue]);
      const before = sizes(client, sub);
      expect(before).toHaveLength(1);
      const told = states(client, sub, venue).length;

      trade(account, "two");
      await stream.advanceAsync(1_000);
      account.secrets.delete("one");
      account.hold("BTC", 25);
      await stream.advanceAsync(30_000);
      expect(sizes(client, sub)).not.toEqual(before);
      // One of them is that the mark has grown old.
      expect(new Set(events(client, sub))).toEqual(new Set(["changed"]));
      expect(states(client, sub, venue).slice(told)).not.toContain("AUTH_REQUIRED");
      expect(sessionsOpen()).toEqual(venue === "venueone" ? [1, 0] : [0, 1]);
      expect(new Set(framesOf(client, sub).map(({ type }) => type))).toEqual(new Set(["snapshot", "update"]));
    },
  );

  it("are shown from the first key on, and kept as old ones where there is none any more", async () => {
    bob.hold("BTC", 10);
    const client = stream.connect();
    const sub = await subscribe(client, "positions", ["venuetwo"]);
    expect([sizes(client, sub), states(client, sub, "venuetwo")]).toEqual([[], ["AUTH_REQUIRED"]]);
    trade(bob, "one");
    await stream.advanceAsync(1_000);
    expect(sizes(client, sub)).toHaveLength(1);
    expect(states(client, sub, "venuetwo").at(-1)).toBe("SNAPSHOT");
    trade(bob, null);
    await stream.advanceAsync(1_000);
    // Not known is not flat.
    expect(sizes(client, sub)).toHaveLength(1);
    expect(states(client, sub, "venuetwo").at(-1)).toBe("AUTH_REQUIRED");
    expect(events(client, sub)).toEqual(["opened"]);
    expect(sessionsOpen()).toEqual([0, 0]);
  });

  it("are those of a key that does not answer after five seconds, and not before", async () => {
    trade(bob, "one");
    bob.hold("BTC", 10);
    const client = stream.connect();
    const sub = await subscribe(client, "positions", ["venuetwo"]);
    const { two } = stream.accounts;
    two.admit = () => new Promise(() => {});
    trade(bob, "two");
    await stream.advanceAsync(4_000);
    expect([two.sessionsOpen, two.sessionsOpened]).toEqual([2, 2]);
    await stream.advanceAsync(3_000);
    expect(two.sessionsOpen).toBe(1);
    expect(sizes(client, sub)).toHaveLength(1);
  });

  it("try a key that cannot be opened every five seconds, and go over once it can", async () => {
    trade(bob, "one");
    bob.hold("BTC", 10);
    const client = stream.connect();
    const sub = await subscribe(client, "positions", ["venuetwo"]);
    const { room } = stream.accounts.two;
    const open = room.openSession.bind(room);
    let tries = 0;
    let isOpenable = false;
    Object.assign(room, {
      openSession: (...call: Parameters<typeof open>) => {
        tries++;
        return isOpenable ? open(...call) : { ok: false, problem: "cannot be opened" };
      },
    });
    trade(bob, "two");
    await stream.advanceAsync(19_000);
    expect(tries).toBe(4);
    isOpenable = true;
    bob.secrets.delete("one");
    await stream.advanceAsync(10_000);
    expect([tries, states(client, sub, "venuetwo").at(-1)]).toEqual([5, "SNAPSHOT"]);
  });

  it("end all of their sessions, whichever keys came while they were open", async () => {
    trade(alice, "one");
    trade(bob, "one");
    const client = stream.connect();
    const sub = await subscribe(client, "positions", ["venueone", "venuetwo"]);
    for (const secret of ["two", "three", "one"]) {
      trade(alice, secret);
      trade(bob, secret);
    }
    expect(Math.max(...sessionsOpen())).toBeLessThanOrEqual(2);
    client.op({ op: "unsubscribe", subs: [sub] });
    await stream.advanceAsync(100);
    expect([sessionsOpen(), hear.size, stream.portfolio.counts().accounts]).toEqual([[0, 0], 0, 0]);
  });
});

describe("where there is no room for another account", () => {
  /** Accounts of others, as many as there is room for. */
  function fill(): void {
    for (let at = 0; ; at++) {
      const walletAddress = `0x${at.toString(16).padStart(40, "0")}`;
      const opened = stream.portfolio.open("venueone", { kind: "address", walletAddress }, false, () => {}, null, null);
      if (!opened.ok) return;
    }
  }

  it.each(["positions", "orders"] as const)(
    "%s go over to the key that followed one that was revoked",
    async (topic) => {
      trade(bob, "one");
      bob.hold("BTC", 10);
      bob.rest("BTC", 5);
      const client = stream.connect();
      const sub = await subscribe(client, topic, ["venuetwo"]);
      fill();
      const { accounts } = stream.portfolio.counts();
      trade(bob, "two");
      bob.secrets.delete("one");
      await stream.advanceAsync(20_000);
      expect(states(client, sub, "venuetwo").at(-1)).toBe("SNAPSHOT");
      expect(client.folds.get(sub)?.rows.size).toBe(1);
      expect(stream.portfolio.counts().accounts).toBe(accounts);
      expect(sessionsOpen()[1]).toBe(1);
    },
  );
});

describe("orders of a wallet", () => {
  it("start anew with the next key, and every later event comes once", async () => {
    trade(alice, "one");
    const first = alice.rest("BTC", 5);
    const client = stream.connect();
    const sub = await subscribe(client, "orders", ["venueone"]);
    trade(alice, "two");
    await stream.advanceAsync(1_000);
    alice.secrets.delete("one");
    expect(framesOf(client, sub).map(({ type }) => type)).toEqual(["snapshot", "resync", "snapshot"]);
    const seen = framesOf(client, sub).length;
    alice.fill(first.venueOrderId, 2);
    await stream.advanceAsync(100);
    const told = framesOf(client, sub)
      .slice(seen)
      .map(({ data }) => (data as { event?: string }).event);
    expect(told).toEqual(["fill", "order"]);
    expect(sessionsOpen()).toEqual([1, 0]);
  });

  it("are resumed by the same name after the wallet's key was followed by another", async () => {
    trade(alice, "one");
    const client = stream.connect();
    const sub = await subscribe(client, "orders", ["venueone"]);
    const { epoch, seq } = client.folds.get(sub) as { epoch: string; seq: number };
    const keeper = stream.connect();
    await subscribe(keeper, "orders", ["venueone"]);
    client.cut();
    trade(alice, "two");
    await stream.advanceAsync(1_000);
    const back = stream.connect(client.folds);
    back.op({
      op: "resume",
      id: "r",
      subs: [{ sub, epoch, seq, exchanges: ["venueone"], walletId: WALLET_ID }],
    });
    await stream.advanceAsync(100);
    expect(back.frames.find(({ id }) => id === "r")).toMatchObject({ type: "resumed", subs: [{ sub }] });
  });
});

it("keys of a wallet that cannot be told leave the frames of all others as they are", async () => {
  trade(bob, "one");
  const client = stream.connect();
  await subscribe(client, "positions", ["venuetwo"]);
  const other = stream.connect();
  other.op({ op: "subscribe", id: "t", topic: "ticker", symbols: ["BTC"], exchanges: ["venueone"], intervalMs: 1_000 });
  await stream.advanceAsync(2_000);
  const told = () => other.frames.filter(({ type }) => type === "update").length;
  const before = told();
  blocks = new Proxy(blocks, {
    get: () => {
      throw new TypeError("a bug");
    },
  });
  for (let second = 1; second <= 4; second++) {
    stream.tick(stream.markets.btcOne, `10${second}`);
    await stream.advanceAsync(1_000);
  }
  expect(told() - before).toBeGreaterThanOrEqual(3);
});

it("a block that the caller gave stays, whatever keys the wallet has", async () => {
  trade(bob, "one");
  bob.secrets.add("own");
  bob.hold("BTC", 10);
  const client = stream.connect();
  const credentials = { venuetwo: { apiKey: bob.id, apiSecret: "own", privateKey: "0" } };
  client.op({
    op: "subscribe",
    id: "p",
    topic: "positions",
    walletAddress: WALLET,
    exchanges: ["venuetwo"],
    walletId: WALLET_ID,
    credentials,
  });
  await stream.advanceAsync(200);
  trade(bob, "two");
  trade(bob, null);
  await stream.advanceAsync(10_000);
  expect(stream.accounts.two.sessionsOpened).toBe(1);
});
