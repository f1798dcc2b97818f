/** What the rest of the program knows of venuefive: what an operator may set, and its room made of it. */
import type { ClientSignedRoom } from "../../engine/client-signed-room.js";
import { VENUEFIVE_ADDRESSES, VENUEFIVE_CHAIN_ID, VENUEFIVE_PAIRS } from "../../schemas/venuefive/contracts.js";
import { BUDGET_MAX } from "../shared/room/venue-descriptor.js";
import { createHistoryPart, type HistoryParts } from "./history-part.js";
import { type PairMap, pairMapOf, parsePairs } from "./market/pair-map.js";
import { createVenuefiveRoom, type VenuefiveRoomParts } from "./room.js";

const address = <const Default extends string>(default_: Default, what: string) => ({
  kind: "text" as const,
  default: default_,
  doc: `Address of ${what}.`,
});

/** By the option's own name; its environment name is `VENUEFIVE_` and that. */
export const VENUEFIVE_OPTIONS = {
  ENABLED: {
    kind: "boolean",
    default: true,
    doc: "Run the venuefive room, which reads positions, orders and histories of its chain. It needs `VENUEFIVE_RPC_URLS`.",
  },
  RPC_URLS: {
    kind: "list",
    default: [],
    mayHoldKeys: true,
    doc: "JSON-RPC endpoints of its chain, best of several operators: where they disagree about a block, most of them decide. They may contain keys, and are shown nowhere but for their hosts. Empty: the room is not run.",
  },
  CHAIN_ID: {
    kind: "integer",
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    default: VENUEFIVE_CHAIN_ID,
    doc: "Its chain. An endpoint of another one is set aside.",
  },
  TRADING_ADDRESS: address(VENUEFIVE_ADDRESSES.Trading, "the contract that takes orders"),
  TRADING_STORAGE_ADDRESS: address(
    VENUEFIVE_ADDRESSES.TradingStorage,
    "the contract that keeps positions, and names the one that executes orders",
  ),
  PAIR_STORAGE_ADDRESS: address(VENUEFIVE_ADDRESSES.PairStorage, "the contract that lists pairs"),
  MULTICALL_ADDRESS: address(VENUEFIVE_ADDRESSES.Multicall, "the venue's own contract for reads of many positions"),
  USDC_ADDRESS: address(VENUEFIVE_ADDRESSES.USDC, "the collateral token, of 6 decimals"),
  PAIRS: {
    kind: "list",
    default: [],
    doc: "Pairs by index, like `ETH=0,BTC=1`, instead of the map of the interface spec (2.6a). The chain's own names are compared with it: where one differs, the room is DOWN and shows nothing.",
  },
  PAIRS_CHECK_BLOCKS: {
    kind: "integer",
    min: 1,
    max: 1_000_000,
    default: 60,
    doc: "Blocks between two comparisons of the pairs with the chain.",
  },
  FROM_BLOCK: {
    kind: "integer",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: 0,
    doc: "First block whose events are indexed. 0: where the index begins by itself.",
  },
  HISTORY_URL: {
    kind: "optional-url",
    default: "",
    doc: "Base URL of the venue's public history, asked for what is older than the index. Empty: nobody is.",
  },
  POLL_MS: {
    kind: "integer",
    min: 100,
    max: 60_000,
    default: 1_000,
    doc: "Between two looks for new blocks. They come every two seconds.",
  },
  LAG_BLOCKS_MAX: {
    kind: "integer",
    min: 1,
    max: 10_000,
    default: 5,
    doc: "An endpoint so many blocks behind the best is not read.",
  },
  CALLS_PER_MINUTE: {
    kind: "integer",
    min: 1_200,
    max: BUDGET_MAX,
    default: 6_000,
    doc: "JSON-RPC calls a minute of each endpoint at most; each call of a batch counts. A read of a wallet is five, and one for each run of up to 12 pairs that it has something of; the first of a wallet counts before.",
  },
} as const;

type Options = typeof VENUEFIVE_OPTIONS;
type Widened<Value> = Value extends boolean
  ? boolean
  : Value extends number
    ? number
    : Value extends string
      ? string
      : readonly string[];
/** Parsed, by the option's own name. */
export type VenuefiveValues = { readonly [Name in keyof Options]: Widened<Options[Name]["default"]> };

export interface VenuefiveConfig
  extends Pick<
    VenuefiveRoomParts,
    "chainId" | "rpcUrls" | "map" | "pollMs" | "lagBlocksMax" | "pairsEveryBlocks" | "callsPerMinute"
  > {
  readonly addresses: {
    readonly Trading: string;
    readonly TradingStorage: string;
    readonly PairStorage: string;
    readonly Multicall: string;
    readonly USDC: string;
  };
  /** Null: where the index begins by itself. */
  readonly fromBlock: number | null;
  /** Null: nobody is asked for what is older. */
  readonly historyUrl: string | null;
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const ADDRESS_OPTIONS = [
  ...(["TRADING_ADDRESS", "TRADING_STORAGE_ADDRESS", "PAIR_STORAGE_ADDRESS"] as const),
  ...(["MULTICALL_ADDRESS", "USDC_ADDRESS"] as const),
] as const;

export const nameOfOption = (option: keyof Options): string => `VENUEFIVE_${option}`;

/** Null where it is not run. A problem is one sentence, and never quotes an endpoint's URL. */
export function readVenuefive(values: VenuefiveValues, problems: string[]): VenuefiveConfig | null {
  if (!values.ENABLED || values.RPC_URLS.length === 0) return null;
  problems.push(...urlProblems(values.RPC_URLS), ...addressProblems(values));
  const map = readMap(values.PAIRS, problems);
  return {
    ...{ chainId: values.CHAIN_ID, rpcUrls: values.RPC_URLS, map },
    addresses: {
      Trading: values.TRADING_ADDRESS.toLowerCase(),
      TradingStorage: values.TRADING_STORAGE_ADDRESS.toLowerCase(),
      PairStorage: values.PAIR_STORAGE_ADDRESS.toLowerCase(),
      Multicall: values.MULTICALL_ADDRESS.toLowerCase(),
      USDC: values.USDC_ADDRESS.toLowerCase(),
    },
    fromBlock: values.FROM_BLOCK === 0 ? null : values.FROM_BLOCK,
    historyUrl: values.HISTORY_URL === "" ? null : values.HISTORY_URL,
    ...{ pollMs: values.POLL_MS, lagBlocksMax: values.LAG_BLOCKS_MAX },
    ...{ pairsEveryBlocks: values.PAIRS_CHECK_BLOCKS, callsPerMinute: values.CALLS_PER_MINUTE },
  };
}

/** `store`: where the index of events is kept. */
export function venuefiveRoom(config: VenuefiveConfig, parts: HistoryParts): ClientSignedRoom {
  const { clock, random, logger } = parts;
  const createHistory: VenuefiveRoomParts["createHistory"] = (...given) => createHistoryPart(config, parts, ...given);
  return createVenuefiveRoom({ ...config, clock, random, logger, createHistory });
}

function urlProblems(urls: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return urls.flatMap((text, index) => {
    const which = `${nameOfOption("RPC_URLS")}: endpoint ${index + 1}`;
    if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
      return [`${which} must be a URL of http or https`];
    const { href } = new URL(text);
    const isTwice = seen.has(href);
    seen.add(href);
    // One endpoint twice would agree with itself.
    return isTwice ? [`${which} is there twice`] : [];
  });
}

function addressProblems(values: VenuefiveValues): readonly string[] {
  return ADDRESS_OPTIONS.flatMap((option) => {
    return ADDRESS.test(values[option]) ? [] : [`${nameOfOption(option)} must be 0x and 40 hex digits`];
  });
}

function readMap(entries: readonly string[], problems: string[]): PairMap {
  const spec = pairMapOf(VENUEFIVE_PAIRS);
  if (entries.length === 0) return spec;
  const parsed = parsePairs(entries);
  if (parsed.ok) return parsed.map;
  problems.push(`${nameOfOption("PAIRS")}: ${parsed.problem}`);
  return spec;
}
