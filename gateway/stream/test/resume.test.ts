/** Who comes back to a private key: what a venue that does not answer is taken for, and how much is sent at once. */
import { describe, expect, it } from "vitest";
import type { FakeAccount } from "../../../engine/portfolio/test/fake-accounts.js";
import type { Fold, Frame } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const KIB = 1024;

function blockOf(account: FakeAccount): Record<string, string> {
  return { privateKey: account.id, apiKey: account.id, apiSecret: account.secret };
}

async function subscribe(stream: VirtualStream, client: VirtualClient, wish: Record<string, unknown>): Promise<string> {
  const seen = client.frames.length;
  client.op({ op: "subscribe", topic: "positions", id: "p", ...wish });
  await stream.advanceAsync(100);
  const answer = client.frames.slice(seen).find((frame) => frame.type === "subscribed");
  return answer?.type === "subscribed" ? (answer.subs[0]?.sub ?? "") : JSON.stringify(answer);
}

function sizes(fold: Fold | undefined): Record<string, unknown> {
  return Object.fromEntries([...(fold?.rows ?? [])].map(([key, row]) => [key, row["size"]]));
}

function eventsOf(frames: readonly Frame[], sub: string): unknown[] {
  return frames.flatMap((frame) =>
    frame.sub === sub && frame.type === "update" ? ((frame.data as { events?: unknown[] }).events ?? []) : [],
  );
}

describe("positions that nobody held, resumed while a venue does not answer", () => {
  async function resumed() {
    const stream = new VirtualStream();
    const alice = stream.accounts.one.addAccount("alice");
    const bob = stream.accounts.two.addAccount("bob");
    alice.hold("BTC", 10);
    bob.hold("BTC", 5);
    const wish = {
      walletAddress: WALLET,
      exchanges: ["venueone", "venuetwo"],
      credentials: { venueone: blockOf(alice), venuetwo: blockOf(bob) },
    };
    const first = stream.connect();
    const sub = await subscribe(stream, first, wish);
    const fold = first.folds.get(sub);
    expect(sizes(fold)).toEqual({ "venueone|BTC|LONG": "0.01", "venuetwo|BTC|LONG": "0.005" });
    const subs = [{ sub, epoch: fold?.epoch, seq: fold?.seq }];
    first.cut();
    await stream.advanceAsync(60_000);
    stream.accounts.two.failure = { code: "TIMEOUT", retryAfterMs: null };
    const back = stream.connect(first.folds);
    back.op({ op: "resume", id: "r", subs, exchanges: wish.exchanges, credentials: wish.credentials });
    await stream.advanceAsync(1_000);
    expect(back.frames[0]).toMatchObject({ type: "resumed", subs: [{ sub, missed: false }] });
    return { stream, bob, back, sub };
  }

  it("are not reported as closed: the last ones are kept, and the coverage says that they are old", async () => {
    const { stream, bob, back, sub } = await resumed();
    const fold = back.folds.get(sub);
    expect(eventsOf(back.frames, sub)).not.toContain("closed");
    expect(sizes(fold)).toEqual({ "venueone|BTC|LONG": "0.01", "venuetwo|BTC|LONG": "0.005" });
    expect(fold?.fields["venuetwo"]).toMatchObject({ state: "ERROR", error: { code: "TIMEOUT" } });
    bob.hold("BTC", 7);
    stream.accounts.two.failure = null;
    await stream.advanceAsync(70_000);
    expect(eventsOf(back.frames, sub)).not.toContain("opened");
    expect(sizes(fold)).toEqual({ "venueone|BTC|LONG": "0.01", "venuetwo|BTC|LONG": "0.007" });
    expect(fold?.fields["venuetwo"]).toMatchObject({ state: "SNAPSHOT" });
  });

  it("are reported as closed once the venue has said so", async () => {
    const { stream, bob, back, sub } = await resumed();
    bob.hold("BTC", 0);
    expect(eventsOf(back.frames, sub)).not.toContain("closed");
    stream.accounts.two.failure = null;
    await stream.advanceAsync(70_000);
    expect(eventsOf(back.frames, sub).filter((event) => event === "closed")).toHaveLength(1);
    expect(sizes(back.folds.get(sub))).toEqual({ "venueone|BTC|LONG": "0.01" });
  });
});

describe("updates that were missed, of many keys", () => {
  /** Far fewer bytes than by default, in the same proportions. */
  const limits = { softBufferBytes: 16 * KIB, hardBufferBytes: 64 * KIB, fatalBufferBytes: 256 * KIB };
  const KEYS = 8;
  const UPDATES = 100;

  it.each([
    ["in one frame", false],
    ["in a frame each", true],
  ])("%s: a reader that takes all it is sent is not closed as a slow one", async (_, isApart) => {
    const stream = new VirtualStream(limits);
    const alice = stream.accounts.one.addAccount("alice");
    alice.hold("BTC", 1);
    const wishes = Array.from({ length: KEYS }, (_unused, index) => ({
      walletAddress: `0x${String(index).padStart(40, "0")}`,
      exchanges: ["venueone"],
      credentials: { venueone: blockOf(alice) },
    }));
    const keeper = stream.connect();
    const leaver = stream.connect();
    const subs: string[] = [];
    for (const wish of wishes) {
      subs.push(await subscribe(stream, keeper, wish));
      await subscribe(stream, leaver, wish);
    }
    leaver.cut();
    const places = subs.map((sub) => ({ sub, epoch: leaver.folds.get(sub)?.epoch, seq: leaver.folds.get(sub)?.seq }));
    for (let count = 2; count < UPDATES; count++) {
      alice.hold("BTC", count);
      stream.turn();
    }
    const missedBytes = keeper.frames.reduce((sum, frame) => sum + JSON.stringify(frame).length, 0);
    expect(missedBytes).toBeGreaterThan(limits.fatalBufferBytes);

    const back = stream.connect(leaver.folds);
    // What the kernels take at once; the reader empties them each time.
    back.pathBytesMax = 32 * KIB;
    const common = { op: "resume", exchanges: ["venueone"], credentials: { venueone: blockOf(alice) } };
    // Frames that arrive together: nothing is read in between.
    const frames = isApart ? places.map((place) => ({ ...common, subs: [place] })) : [{ ...common, subs: places }];
    for (const frame of frames) stream.hub.receive(back.connection, Buffer.from(JSON.stringify(frame)), false);
    await stream.advanceAsync(2_000);
    expect([back.connection.isOpen, back.connection.isLagging]).toEqual([true, false]);
    for (const sub of subs) expect(sizes(back.folds.get(sub))).toEqual(sizes(keeper.folds.get(sub)));
    // As many as fit came one by one, the others start again and are told why.
    const kinds = new Set(back.frames.map((frame) => (frame.type === "snapshot" ? frame.reason : frame.type)));
    expect([kinds.has("update"), kinds.has("RESUME_MISS")]).toEqual([true, true]);
  });
});
