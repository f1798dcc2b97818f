/**
 * The local venuefive as it runs beside the others: prices follow the shared model, and its keeper makes a round at once
 * after each. Pairs that the model does not know keep the price they start with.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { DEFAULT_BASES, type PriceSource } from "../core/market/factor-model.js";
import { SPEC_PAIRS } from "./pairs.js";
import type { VenuefiveAddresses } from "./plan.js";
import { startVenuefive, type VenuefiveWorld } from "./world.js";

export interface VenuefiveDemoOptions {
  readonly clock: Pick<Clock, "wallMs">;
  readonly priceSource: PriceSource;
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
const ROUND_MS = 1_000;
const PRICE_DECIMALS = 10;

export async function startVenuefiveDemo({ clock, priceSource }: VenuefiveDemoOptions): Promise<VenuefiveDemo> {
  const world = await startVenuefive({ mining: { kind: "interval", seconds: BLOCK_SECONDS } });
  const bases = new Set(DEFAULT_BASES.map(({ base }) => base));
  const followed = SPEC_PAIRS.flatMap(({ symbol }, pairIndex) => (bases.has(symbol) ? [{ symbol, pairIndex }] : []));
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const round = async (): Promise<void> => {
    const nowMs = clock.wallMs();
    const prices = followed.map(({ symbol, pairIndex }) => [
      pairIndex,
      priceSource.fairPrice(symbol, nowMs).toFixed(PRICE_DECIMALS),
    ]);
    await world.setPrices(Object.fromEntries(prices) as Record<number, string>);
    await world.keeper.round();
  };
  let running = Promise.resolve();
  const next = (): void => {
    // A round that fails is as a keeper that is down for a second: the next one finds the same work.
    running = round()
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
