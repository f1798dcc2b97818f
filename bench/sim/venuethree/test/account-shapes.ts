/** One answer or frame of the account side for each recorded shape, under the same name. */
import type { Frame } from "../../core/test/listener.js";
import { connect, get } from "./support.js";
import { ETH, startTraders, type WireOrder } from "./trader.js";

export async function shownAccountShapes(): Promise<Readonly<Record<string, unknown>>> {
  // Only premium accounts pay fees, and fees are left out when zero.
  const { venue, clock, trader } = await startTraders({}, { tier: "premium" });
  try {
    const listener = await connect(venue);
    const first = async (channel: string): Promise<Frame | undefined> => {
      const before = listener.frames.length;
      listener.send({ type: "subscribe", channel, auth: trader.token() });
      await listener.drained();
      return listener.frames[before];
    };
    const newest = async (type: string): Promise<Frame | undefined> => {
      await listener.drained();
      return listener.frames.findLast((frame) => frame.type === type);
    };
    await trader.create({ client: 42, tif: 2, price: trader.touch("BUY") - 9_000 });
    trader.settle();
    const allOrders = await first("account_all_orders/65");
    const accountAllTrades = await first("account_all_trades/65");
    await first("account_orders/0/65");
    for (let count = 0; count < 4; count++) {
      await trader.create({ type: 1, base: 5_000, price: trader.touch("SELL") + 9_000 });
      trader.settle();
    }
    await trader.create({ market: ETH, client: 43, tif: 2, price: trader.touch("BUY", ETH) - 900 });
    trader.settle();
    const path = "accountActiveOrders?account_index=65";
    const refused = { ...trader.order({ type: 1 }), Nonce: 999 };
    const shown = {
      accountActiveOrders: (await trader.read(path)).json,
      accountUnauthorised: (await trader.read(path, null)).json,
      authDeadlineTooFar: (await trader.read(path, trader.token(20 * 3_600))).json,
      invalidNonce: (await trader.send(14, refused)).json,
      accountAllOrders: allOrders,
      accountAllPositions: undefined as unknown,
      accountAllTrades,
      accountAllTradesUpdate: withBothFees(await newest("update/account_all_trades")),
      accountOrders: await newest("update/account_orders"),
      accountAllAssets: await first("account_all_assets/65"),
      userStats: await first("user_stats/65"),
      apikeys: (await get(venue, "/api/v1/apikeys?account_index=65&api_key_index=5")).json,
      nextNonce: (await get(venue, "/api/v1/nextNonce?account_index=65&api_key_index=5")).json,
    };
    await first("account_all_positions/65");
    await trader.create({ type: 1, ask: true, reduce: true, base: 0, price: trader.touch("BUY") - 9_000 });
    clock.advance(400);
    shown.accountAllPositions = await newest("update/account_all_positions");
    listener.socket.terminate();
    return shown;
  } finally {
    await venue.stop();
  }
}

/** Half of the crowd's makers pay: a row that shows both fees comes first, under the market of the recorded one. */
function withBothFees(frame: Frame | undefined): unknown {
  const trades = frame?.trades as Readonly<Record<string, readonly WireOrder[]>> | undefined;
  const rows = Object.values(trades ?? {}).flat();
  return {
    ...frame,
    trades: { "0": rows.filter((row) => row.maker_fee !== undefined && row.taker_fee !== undefined) },
  };
}
