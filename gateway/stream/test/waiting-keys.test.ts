/** The stream client against the hub on virtual time, while one of its venues answers nobody. */
import { beforeEach, describe, expect, it } from "vitest";
import { StreamClient, type SubscriptionView } from "../../../client/stream/stream-client.js";
import type { PositionsData } from "../../../client/stream/topics.js";
import type { FakeAccount } from "../../../engine/portfolio/test/fake-accounts.js";
import type { Fold } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const EXCHANGES = ["venueone", "venuetwo"] as const;

let stream: VirtualStream;
let alice: FakeAccount;
let links: VirtualClient[];
/** What the judge of frames has seen of each key, over all connections of the client. */
let folds: Map<string, Fold>;
let asked: string[];
let views: SubscriptionView[];

beforeEach(() => {
  stream = new VirtualStream();
  links = [];
  folds = new Map();
  asked = [];
  views = [];
  alice = stream.accounts.one.addAccount("alice");
  const bob = stream.accounts.two.addAccount("bob");
  alice.hold("BTC", 400);
  const block = (account: FakeAccount) => ({ privateKey: account.id, apiKey: account.id, apiSecret: account.secret });
  const client = new StreamClient({
    url: "ws://test/ws",
    random: () => 0,
    clock: { nowMs: () => stream.clock.monoNs() / 1e6, every },
    openSocket: (_, events) => {
      const link = stream.connect(folds);
      links.push(link);
      link.onFrame = (frame) => later(() => events.said(JSON.stringify(frame)));
      later(() => events.opened());
      return {
        send(text) {
          asked.push((JSON.parse(text) as { op: string }).op);
          later(() => link.op(JSON.parse(text) as Record<string, unknown>));
        },
        close: () => link.cut(),
      };
    },
  });
  const credentials = { venueone: block(alice), venuetwo: block(bob) };
  const wish = { walletAddress: WALLET, exchanges: EXCHANGES, credentials };
  client.subscribe({ topic: "positions", ...wish } as unknown as Parameters<StreamClient["subscribe"]>[0], {
    changed: (view) => void views.push(view),
  });
  client.start();
});

/** The way there and back takes a moment; nothing answers within a call. */
function later(run: () => void): void {
  stream.clock.setTimer(run, 1);
}

function every(intervalMs: number, callback: () => void): () => void {
  let isEnded = false;
  const again = (): void => {
    stream.clock.setTimer(() => {
      if (isEnded) return;
      callback();
      again();
    }, intervalMs);
  };
  again();
  return () => {
    isEnded = true;
  };
}

/** Share of the time in which the client called its positions current, looked at four times a second. */
async function currentShare(seconds: number): Promise<number> {
  let current = 0;
  for (let look = 0; look < 4 * seconds; look++) {
    await stream.advanceAsync(250);
    stream.prove();
    if (views.at(-1)?.current === true) current++;
  }
  return current / (4 * seconds);
}

const count = (op: string): number => asked.filter((one) => one === op).length;
describe("a venue that answers nobody", () => {
  it("delays the first snapshot once, and then costs the others nothing", async () => {
    stream.accounts.two.admit = () => new Promise(() => {});
    // The first snapshot waits for it, five seconds and no longer.
    expect(await currentShare(120)).toBeGreaterThan(0.93);
    expect([count("subscribe"), count("unsubscribe"), links.length]).toEqual([1, 0, 1]);
    const data = views.at(-1)?.data as PositionsData;
    expect([...data.positions.values()]).toMatchObject([{ exchange: "venueone", size: "0.4" }]);
    expect(data.coverage.get("venuetwo")).toMatchObject({ state: "ERROR", errorCode: "NO_ANSWER_YET" });
  });

  it("is treated the same after each loss of the connection", async () => {
    stream.accounts.two.admit = () => new Promise(() => {});
    await currentShare(10);
    for (let loss = 0; loss < 3; loss++) {
      const before = asked.length;
      links.at(-1)?.connection.end(1012, "RESTART");
      stream.turn();
      await stream.advanceAsync(500);
      expect(await currentShare(60)).toBeGreaterThan(0.85);
      expect(asked.slice(before).length).toBeLessThanOrEqual(2);
      expect(links.length).toBe(loss + 2);
    }
  });

  it("leaves the key in the heads with 0 for as long as its snapshot waits", async () => {
    stream.accounts.two.admit = () => new Promise(() => {});
    const waiting = stream.connect();
    await stream.advanceAsync(2_000);
    const credentials = { venuetwo: { apiKey: "bob", apiSecret: "secret-of-bob" } };
    waiting.op({ op: "subscribe", topic: "orders", walletAddress: WALLET, exchanges: ["venuetwo"], credentials });
    const sub = waiting.frames.filter(({ type }) => type === "subscribed").at(-1)?.subs[0]?.sub ?? "";
    await stream.advanceAsync(3_500);
    const [beat] = waiting.frames.filter(({ type }) => type === "heartbeat");
    expect(beat?.heads[sub]).toBe(0);
    await stream.advanceAsync(5_000);
    const [, next] = waiting.frames.filter(({ type }) => type === "heartbeat");
    expect(next?.heads[sub]).toBeGreaterThan(0);
  });
});
