import { describe, expect, it } from "vitest";
import type { Reply } from "../../gateway/test/client.js";
import { PacedClient } from "./paced-client.js";

/** A caller and a service on a virtual clock; each request takes no time. */
function paced(answer: (asked: number) => Partial<Reply>) {
  let nowMs = 5_000;
  const sentMs: number[] = [];
  const inner = {
    send: (): Promise<Reply> => {
      sentMs.push(nowMs - 5_000);
      return Promise.resolve({ status: 200, headers: {}, text: "", body: null, ...answer(sentMs.length) });
    },
  };
  const clock = {
    nowMs: () => nowMs,
    pause: (ms: number): Promise<void> => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
  return { client: new PacedClient(inner, clock), clock, sentMs };
}

const refused = (seconds: string): Partial<Reply> => ({ status: 503, headers: { "retry-after": seconds } });

describe("a paced client", () => {
  it("sends at once while nobody says to wait", async () => {
    const { client, sentMs } = paced(() => ({}));
    for (let asked = 0; asked < 3; asked++) await client.send("/");
    expect(sentMs).toEqual([0, 0, 0]);
  });

  it("never sends sooner than the service said", async () => {
    const { client, sentMs } = paced((asked) => (asked < 3 ? refused("7") : {}));
    for (let asked = 0; asked < 4; asked++) await client.send("/");
    expect(sentMs).toEqual([0, 7_000, 14_000, 14_000]);
  });

  it("waits no longer than is left", async () => {
    const { client, clock, sentMs } = paced((asked) => (asked === 1 ? refused("7") : {}));
    await client.send("/");
    await clock.pause(6_000);
    await client.send("/");
    await clock.pause(9_000);
    await client.send("/");
    expect(sentMs).toEqual([0, 7_000, 16_000]);
  });

  it("spends few requests of a budget that is used up, however eager its caller", async () => {
    const { client, clock, sentMs } = paced(() => refused("2"));
    while (clock.nowMs() < 65_000) {
      await client.send("/");
      await clock.pause(100);
    }
    expect(sentMs.length).toBeLessThanOrEqual(31);
  });

  it("takes whole seconds, a minute of them at most, and nothing else for a time to wait", async () => {
    for (const [text, nextMs] of [
      ["0", 0],
      ["", 0],
      ["-3", 0],
      ["1.5", 0],
      ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
      ["86400", 60_000],
    ] as const) {
      const { client, sentMs } = paced(() => refused(text));
      await client.send("/");
      await client.send("/");
      expect([text, sentMs[1]]).toEqual([text, nextMs]);
    }
  });
});
