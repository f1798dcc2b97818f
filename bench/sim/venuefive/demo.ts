/**
 * The local venuefive as it runs beside the others: prices follow the shared model, and its keeper makes a round at once
 * after each. Pairs that the model does not know keep the price they start with.
 */
import type { Hex } from "viem";
import type { Clock } from "../../../engine/domain/clock.js";
import { DEFAULT_BASES, type PriceSource } from "../core/market/factor-model.js";
import { openDemoOrders } from "./demo-trader.js";
import { SPEC_PAIRS } from "./pairs.js";
import type { VenuefiveAddresses } from "./plan.js";
import { startVenuefive, type VenuefiveWorld } from "./world.js";

export interface VenuefiveDemoOptions {
  readonly clock: Pick<Clock, "wallMs">;
  readonly priceSource: PriceSource;
  /** Holds a position and a resting order from the first seconds on; absent: nobody does. */
  readonly trader?: Hex;
}

export interface VenuefiveDemo {
  readonly world: VenuefiveWorld;
  /** What a client of the chain needs to know. */
  readonly description: {
    readonly rpcUrl: string;
    readonly chainId: number;
    readonly addresses: VenuefiveAddresses;
  };
  stop(): Promise<void>;
}

/** As the real chain makes them. */
const BLOCK_SECONDS = 2;
/** Nobody can take a block of this chain back, and a person looks at a history seconds after a trade. */
const SAFE_LAG_BLOCKS = 1;
const ROUND_MS = 1_000;
const PRICE_DECIMALS = 10;
const POSITION = { symbol: "BTC", collateral: "500", leverage: "10" } as const;
/** Far enough below the market to rest. */
const ORDER = { symbol: "ETH", collateral: "100", leverage: "10", shareOfPrice: 0.7 } as const;

export async function startVenuefiveDemo({ clock, priceSource, trader }: VenuefiveDemoOptions): Promise<VenuefiveDemo> {
  const mining = { kind: "interval", seconds: BLOCK_SECONDS } as const;
  const world = await startVenuefive({ mining, safeLagBlocks: SAFE_LAG_BLOCKS });
  const bases = new Set(DEFAULT_BASES.map(({ base }) => base));
  const followed = SPEC_PAIRS.flatMap(({ symbol }, pairIndex) => (bases.has(symbol) ? [{ symbol, pairIndex }] : []));
  const priceOf = (symbol: string, share = 1): string =>
    (priceSource.fairPrice(symbol, clock.wallMs()) * share).toFixed(PRICE_DECIMALS);
  const indexOf = (symbol: string): number => SPEC_PAIRS.findIndex((pair) => pair.symbol === symbol);
  const opens = async (): Promise<void> => {
    if (trader === undefined) return;
    const { symbol, shareOfPrice, ...order } = ORDER;
    await openDemoOrders(world, trader, [
      { ...POSITION, pairIndex: indexOf(POSITION.symbol), price: priceOf(POSITION.symbol), type: 0 },
      { ...order, pairIndex: indexOf(symbol), price: priceOf(symbol, shareOfPrice), type: 2 },
    ]);
  };
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const round = async (): Promise<void> => {
    const prices = followed.map(({ symbol, pairIndex }) => [pairIndex, priceOf(symbol)]);
    await world.setPrices(Object.fromEntries(prices) as Record<number, string>);
    await world.keeper.round();
  };
  // Nobody waits for them: the venue is there without.
  let running = opens().catch(() => {});
  const next = (): void => {
    // A round that fails is as a keeper that is down for a second: the next one finds the same work.
    running = running
      .then(round)
      .catch(() => {})
      .then(() => {
        if (!isStopped) timer = setTimeout(next, ROUND_MS);
      });
  };
  next();
  const { rpcUrl, chainId, addresses } = world;
  return {
    world,
    description: { rpcUrl, chainId, addresses },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      // Ends a round under way too: its calls fail.
      await world.stop();
      await running;
    },
  };
}
