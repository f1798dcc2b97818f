/** Somebody else's program: opens a position at venuefive, shows what the contract stores of it, and closes it. */
import {
  createVenuefiveTrading,
  type OpenPositionResult,
  type VenuefiveStepEvent,
  VenuefiveTradeError,
} from "unwind-client";
import { type Address, createPublicClient, createWalletClient, type Hex, http, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";

interface Task {
  readonly act: "open" | "close" | "refuse";
  readonly rpcUrl: string;
  readonly key: Hex;
  readonly addresses: Readonly<Record<"Trading" | "TradingStorage" | "PairStorage" | "Multicall" | "USDC", Address>>;
}

const STORAGE = parseAbi([
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "function openTrades(address trader, uint256 pairIndex, uint256 index) view returns (Trade)",
]);
const PAIR_INDEX = 1;

const { act, rpcUrl, key, addresses } = JSON.parse(process.argv[2] ?? "") as Task;
const account = privateKeyToAccount(key);
const publicClient = createPublicClient({ transport: http(rpcUrl) });
const walletClient = createWalletClient({ account, transport: http(rpcUrl) });
const show = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const onStep = ({ step, operation }: VenuefiveStepEvent): void => show({ step, operation });
const trading = createVenuefiveTrading({ publicClient, walletClient, addresses, waitFor: "executed", onStep });

async function stored(): Promise<string> {
  const { initialPosToken } = await publicClient.readContract({
    address: addresses.TradingStorage,
    abi: STORAGE,
    functionName: "openTrades",
    args: [account.address, BigInt(PAIR_INDEX), 0n],
  });
  return String(initialPosToken);
}

const open = (leverage: number): Promise<OpenPositionResult> =>
  trading.openPosition({
    ...{ symbol: "BTC", direction: "LONG", positionSizeUsd: "100", leverage },
    ...{ openPrice: "92400", orderType: "MARKET" },
  });

if (act === "open") show({ opened: await open(10), stored: await stored() });
if (act === "close")
  show({ closed: await trading.closePosition({ pairIndex: PAIR_INDEX, tradeIndex: 0 }), stored: await stored() });
if (act === "refuse") {
  const error = await open(500).catch((thrown: unknown) => thrown);
  if (error instanceof VenuefiveTradeError) show({ code: error.code, outcome: error.outcome });
}
