/** Scenes about orders whose end comes late: single orders repeated under their key, and the status that lists them. */
import { pause } from "../system.js";
import { hasEnd } from "../trade-trial.js";
import { orderOf } from "../judge/single-orders.js";
import { LONG_BTC, type Scene, SceneOver, type Stage } from "./stage.js";

/** Venues that take the caller's own credentials on their single-order route. */
const BY_CALLER = ["venuethree", "venuefour"] as const;
const ASK_AGAIN_MS = 200;
const ASKS_MAX = 30;

/** A buy and a sale on one venue, each requested until its end is known, and once more. */
export const singleScene: Scene = {
  positions: { BTC: "0.2" },
  async play(stage) {
    const serving = BY_CALLER.filter((venue) => venue !== stage.down);
    const venue = stage.pick(serving);
    await keyedOrder(stage, venue, "BUY", "0.02");
    await keyedOrder(stage, venue, "SELL", "0.03");
  },
};

async function keyedOrder(
  stage: Stage,
  venue: (typeof BY_CALLER)[number],
  side: "BUY" | "SELL",
  quantity: string,
): Promise<void> {
  const { credentials, label } = stage.trader;
  const order = { idempotencyKey: `single-${label}-${side}`, symbol: "BTC", side, quantity };
  const body = {
    credentials: { [venue]: credentials[venue] },
    symbol: "BTC",
    side,
    quantity,
    type: "MARKET",
    ...(venue === "venuethree" ? { userId: label } : {}),
    reduceOnly: side === "SELL",
  };
  const headers = { "idempotency-key": order.idempotencyKey };
  const ask = () => stage.ask("ORDER", `/api/trading/${venue}/orders`, { venues: [venue], order }, { body, headers });
  for (let asked = 0; asked < ASKS_MAX; asked++) {
    const { status, data } = await ask();
    const isOver = status === 200 ? orderOf(data)?.isFinal === true : status >= 400 && status < 500;
    if (isOver) return void (await ask());
    await pause(ASK_AGAIN_MS);
  }
  throw new SceneOver();
}

/** venuethree acknowledges before it decides: with so little time the reply is about an order that is still open. */
const SHORT_MS = 250;
const LOOKS = 4;

/** While the end of an order is unknown, the status lists it. */
export const listedScene: Scene = {
  positions: {},
  async play(stage) {
    if (stage.down === "venuethree") return;
    const fields = { kind: "OPEN", ...LONG_BTC, size: "0.02", preferred: "venuethree" } as const;
    const trial = await stage.trade({ ...fields, routingOptions: { deadlineMs: SHORT_MS } });
    for (let look = 0; look < LOOKS && !hasEnd(trial); look++) {
      await stage.ask("STATUS", "/api/status", {}, { method: "GET" });
      await stage.again(trial);
    }
    await stage.toEnd(trial);
  },
};
