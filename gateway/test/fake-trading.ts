/** The trading half of a harness: a scripted order desk, wallets that a test names, and a kill switch that stops nothing. */
import { Owners } from "../../engine/domain/owner.js";
import { GuardBook, NO_LIMITS } from "../../engine/guards/guard-book.js";
import { MemoryCredentials } from "../accounts/memory-credentials.js";
import { createTradingDesk, type TradingDesk, type TradingDeskParts } from "../accounts/trading-desk.js";
import type { TradingParts } from "./harness.js";

type Wallets = ConstructorParameters<typeof MemoryCredentials>[0];

export function tradingWith(orders: TradingDeskParts["orders"], wallets: Wallets = []) {
  return async ({ clock, store, logger }: TradingParts): Promise<TradingDesk> => {
    const policy = { global: NO_LIMITS, each: NO_LIMITS, byOwner: new Map() };
    const killSwitch = new GuardBook({ store, clock, logger, policy });
    await killSwitch.start();
    const operator = { loopbackOnly: true, open: false };
    return createTradingDesk({
      recordAct: async () => {},
      clock,
      wallets: new MemoryCredentials(wallets),
      owners: new Owners(),
      orders,
      killSwitch,
      operator,
    });
  };
}
