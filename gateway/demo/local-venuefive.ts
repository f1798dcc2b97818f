/** The local venuefive of the demo as settings of the service. */
import { nameOfOption } from "../../feeds/venuefive/descriptor.js";

/** As the process of the local venues names it. */
export interface LocalVenuefive {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** By contract. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** Its chain begins with the demo: all of its events are known. */
const FIRST_BLOCK = 1;
/** A person looks for what was just done. */
const POLL_MS = 500;

/** None where it does not run. */
export function venuefiveSettings(local: LocalVenuefive | null): Readonly<Record<string, string>> {
  if (local === null) return {};
  const { rpcUrl, chainId, addresses } = local;
  return {
    [nameOfOption("RPC_URLS")]: rpcUrl,
    [nameOfOption("CHAIN_ID")]: String(chainId),
    [nameOfOption("TRADING_ADDRESS")]: addresses["Trading"] ?? "",
    [nameOfOption("TRADING_STORAGE_ADDRESS")]: addresses["TradingStorage"] ?? "",
    [nameOfOption("PAIR_STORAGE_ADDRESS")]: addresses["PairStorage"] ?? "",
    [nameOfOption("MULTICALL_ADDRESS")]: addresses["Multicall"] ?? "",
    [nameOfOption("USDC_ADDRESS")]: addresses["Usdc"] ?? "",
    [nameOfOption("FROM_BLOCK")]: String(FIRST_BLOCK),
    [nameOfOption("POLL_MS")]: String(POLL_MS),
  };
}
