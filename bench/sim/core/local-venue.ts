/** One row of the table of local venues: its demo trader, its names and routes, and how it starts. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { SimExchange } from "./engine/exchange.js";
import type { FlowOptions } from "./engine/flow.js";
import type { PriceSource } from "./market/factor-model.js";

export interface LocalVenue {
  /** Names and keys of the demo trader; they have no use elsewhere. */
  readonly trader: object;
  /** Its block of a request's `credentials` (interface spec 2.3). */
  readonly credentials: object;
  /** The venue's name of a coin's contract. */
  symbolOf(coin: string): string;
  /** Where orders are sent, as faults match it. */
  readonly orderRoute: string;
  start(options: DemoOptions): Promise<LocalVenueServer>;
}

export interface LocalVenueServer {
  readonly exchange: SimExchange;
  readonly port: number;
  readonly restUrl: string;
  readonly wsUrl: string;
  stop(): Promise<void>;
}

export interface DemoOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly priceSource: PriceSource;
  readonly coins: readonly string[];
  readonly port: number;
  /** Open size in BTC, decimal text. */
  readonly btcSize: string;
  /** Also lists contracts that do not trade, as the venue does. */
  readonly listsOthers: boolean;
  /** Lifts request budgets, for load. */
  readonly unlimited: boolean;
  readonly flow: Partial<FlowOptions>;
  /** Of a venue that takes money on chain; absent where no chains run. */
  readonly chains?: LocalChains;
}

/** What a venue knows of the local chains. */
interface LocalChains {
  /** By chain id. */
  readonly rpcUrls: Readonly<Partial<Record<1 | 56 | 42161, string>>>;
}

/** The size of a lifted budget. */
export const NO_LIMIT = 1_000_000_000;

/** The demo trader's wallet, where accounts are addresses of EVM chains: published, of a test chain. */
export const DEMO_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
