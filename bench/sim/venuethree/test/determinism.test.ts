/** One seed, one clock, the same calls: the same bytes, ids and fills. Signatures differ, what they sign does not. */
import { describe, expect, it } from "vitest";
import { connect } from "./support.js";
import { startTraders } from "./trader.js";

async function record(seed: number): Promise<string> {
  const { venue, clock, trader } = await startTraders({ seed });
  const listener = await connect(venue);
  for (const channel of ["account_all_orders", "account_all_trades", "account_all_positions", "user_stats"])
    listener.send({ type: "subscribe", channel: `${channel}/65`, auth: trader.token() });
  listener.send({ type: "subscribe", channel: "trade/1" });
  listener.send({ type: "subscribe", channel: "order_book/1" });
  await listener.drained();
  const answers: unknown[] = [];
  for (let round = 1; round <= 5; round++) {
    const ask = round % 2 === 0;
    const price = ask ? trader.touch("BUY") - 3_000 : trader.touch("SELL") + 3_000;
    answers.push((await trader.create({ type: 1, client: round, base: 700, ask, price })).json);
    answers.push((await trader.create({ tif: 2, client: 100 + round, price: trader.touch("BUY") - 2_000 })).json);
    clock.advance(2_000);
    await listener.drained();
  }
  answers.push(await trader.position(), await trader.activeOrders(), await trader.inactiveOrders());
  listener.socket.terminate();
  await venue.stop();
  return JSON.stringify([answers, listener.frames], null, 1);
}

describe("determinism", () => {
  it("repeats every frame and answer under the same seed", async () => {
    expect(await record(3)).toBe(await record(3));
  });

  it("sends other frames under another seed", async () => {
    expect(await record(3)).not.toBe(await record(4));
  });
});
