/** One seed, one clock, the same calls: the same bytes, ids and fills. */
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ALICE, btc, KEYS, orderAction, startBench } from "./kit.js";

async function record(seed: number): Promise<string> {
  const bench = await startBench({ seed, symbols: ["BTC", "SOL"] });
  const socket = new WebSocket(bench.sim.wsUrl);
  await once(socket, "open");
  const frames: string[] = [];
  let pongs = 0;
  let wake: (() => void) | null = null;
  socket.on("message", (data: Buffer) => {
    const text = data.toString("utf8");
    if (text === '{"channel":"pong"}') pongs++;
    else frames.push(text);
    wake?.();
  });
  const drained = async (count: number): Promise<void> => {
    socket.send('{"method":"ping"}');
    while (pongs < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  for (const subscription of [
    { type: "l2Book", coin: "BTC" },
    { type: "l2Book", coin: "SOL", fast: true },
    { type: "bbo", coin: "BTC" },
    { type: "trades", coin: "BTC" },
    { type: "userFills", user: ALICE },
    { type: "orderUpdates", user: ALICE },
  ]) {
    socket.send(JSON.stringify({ method: "subscribe", subscription }));
  }
  await drained(1);
  const replies: unknown[] = [];
  for (let round = 1; round <= 5; round++) {
    bench.clock.advance(3_000);
    const price = String(Math.ceil(btc(bench).ask * 1.01));
    replies.push(await bench.act(KEYS.alice, orderAction([{ p: price, s: "0.3", tif: "Ioc" }])));
    await drained(round + 1);
  }
  replies.push(
    await bench.info({ type: "clearinghouseState", user: ALICE }),
    await bench.info({ type: "userFills", user: ALICE }),
  );
  socket.terminate();
  await bench.stop();
  return JSON.stringify([replies, frames], null, 1);
}

describe("determinism", () => {
  it("repeats every frame and reply under the same seed", async () => {
    expect(await record(3)).toBe(await record(3));
  });

  it("sends other frames under another seed", async () => {
    expect(await record(3)).not.toBe(await record(4));
  });
});
