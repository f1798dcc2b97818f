/** How the chain shows deposits: the vault by an event of its own, the bridge by plain transfers of its token to it. */
import { decodeEventLog, encodeEventTopics, type Hex } from "viem";
import { CONTRACTS } from "./contracts/artifacts.js";
import { WORLD, type WorldChainId, worldToken } from "./world-plan.js";

export interface ChainLog {
  readonly address: Hex;
  readonly topics: [Hex, ...Hex[]];
  readonly data: Hex;
  readonly blockNumber: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

/** What a deposit says of itself. `amount` is in the token's smallest unit. */
export interface DepositFacts {
  /** Who is credited, lower case. */
  readonly account: Hex;
  readonly token: string;
  readonly decimals: number;
  readonly amount: bigint;
  /** Null where the venue knows no brokers. */
  readonly broker: bigint | null;
}

export interface DepositSource {
  /** Filter of `eth_getLogs`. */
  readonly filter: { readonly address: Hex; readonly topics: readonly (Hex | null)[] };
  /** Null where the log is no deposit. */
  read(log: ChainLog): DepositFacts | null;
}

const NATIVE_DECIMALS = 18;
const ZERO_ADDRESS = `0x${"0".repeat(40)}`;
const lower = (address: Hex): Hex => address.toLowerCase() as Hex;

export function vaultDeposits(chainId: WorldChainId): DepositSource {
  const { vault, tokens } = WORLD[chainId];
  const { abi } = CONTRACTS.Vault;
  const [topic] = encodeEventTopics({ abi, eventName: "Deposit" }) as [Hex];
  return {
    filter: { address: vault, topics: [topic] },
    read({ topics, data }) {
      const { args } = decodeEventLog({ abi, topics, data }) as unknown as {
        args: { account: Hex; currency: Hex; isNative: boolean; amount: bigint; broker: bigint };
      };
      const { account, currency, isNative, amount, broker } = args;
      const common = { account: lower(account), amount, broker };
      if (isNative) return { ...common, token: "NATIVE", decimals: NATIVE_DECIMALS };
      const token = Object.values(tokens).find(({ address }) => lower(address) === lower(currency));
      return token === undefined ? null : { ...common, token: token.symbol, decimals: token.decimals };
    },
  };
}

export function bridgeDeposits(chainId: WorldChainId): DepositSource {
  const { bridge } = WORLD[chainId];
  if (bridge === null) throw new RangeError(`no bridge on chain ${chainId}`);
  const { address, symbol, decimals } = worldToken(chainId, "USDC");
  const { abi } = CONTRACTS.Token;
  const topics = encodeEventTopics({ abi, eventName: "Transfer", args: { to: bridge } }) as (Hex | null)[];
  return {
    filter: { address, topics },
    read(log) {
      const { args } = decodeEventLog({ abi, topics: log.topics, data: log.data }) as unknown as {
        args: { from: Hex; value: bigint };
      };
      // What was minted for the bridge is nobody's deposit.
      if (args.from === ZERO_ADDRESS) return null;
      return { account: lower(args.from), token: symbol, decimals, amount: args.value, broker: null };
    },
  };
}
