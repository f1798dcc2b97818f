/** A transaction that was sent before, known by its hash alone: what it asked of the venue, as the chain shows it. */
import { decodeFunctionData, type Hex, type Transaction } from "viem";
import type { ChainReader } from "./chain-reader.js";
import { TRADING } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { type ExpectedEvent, isSame, openEvent, orderEvent, slotEvent } from "./receipt-events.js";
import { invalid, typedError, VenuefiveTradeError } from "./trade-error.js";
import type { SentTransaction, Signer } from "./wallet.js";
import { pause } from "./within.js";

interface SentBefore {
  readonly sent: SentTransaction;
  readonly expects: readonly ExpectedEvent[];
}

/** In small letters, as nodes write it. */
export function checkHash(given: unknown): Hex {
  if (typeof given !== "string" || !/^0x[0-9a-f]{64}$/i.test(given)) throw invalid("txHash", "a transaction's hash");
  return given.toLowerCase() as Hex;
}

/** Throws NOT_OWN_TRANSACTION where it is no trade of the signer's, RECEIPT_TIMEOUT where no node shows it in time. */
export async function sentBefore(
  config: TradingConfig,
  reader: ChainReader,
  { address }: Signer,
  txHash: Hex,
): Promise<SentBefore> {
  const { clock, timeouts } = config;
  const endMs = clock.monoMs() + timeouts.minedMs;
  for (;;) {
    const { shown, afterBlock, problem } = await look(reader, txHash);
    if (shown !== null) {
      const asked = isSame(shown.from, address) && isSame(shown.to, config.addresses.Trading) ? askedBy(shown) : null;
      if (asked === null) throw notOwn(shown, txHash);
      const call = { address: config.addresses.Trading, abi: TRADING, value: shown.value, ...asked.call };
      const { input: data, nonce } = shown;
      return { sent: { hash: txHash, call, data, from: address, nonce, afterBlock, doubt: null }, ...asked };
    }
    if (clock.monoMs() >= endMs)
      throw new VenuefiveTradeError(
        "RECEIPT_TIMEOUT",
        "the node does not show the transaction; it may still be mined",
        {
          ...{ outcome: "unknown", txHash, cause: problem },
        },
      );
    await pause(clock, timeouts.pollMs);
  }
}

/** The block is read first: what takes the nonce after this look is in a later one. */
async function look(reader: ChainReader, txHash: Hex) {
  try {
    const afterBlock = await reader.node.blockNumber();
    return { shown: await reader.node.transaction(txHash), afterBlock, problem: undefined };
  } catch (problem) {
    return { shown: null, afterBlock: 0n, problem };
  }
}

interface Asked {
  readonly call: { readonly functionName: string; readonly args: readonly unknown[] };
  readonly expects: readonly ExpectedEvent[];
}

/** Null where it is none of the operations. */
function askedBy({ input }: Transaction): Asked | null {
  try {
    const call = decodeFunctionData({ abi: TRADING, data: input }) as Asked["call"];
    const expects = expected(call);
    return expects === null ? null : { call, expects };
  } catch {
    return null;
  }
}

const MARKET_TYPES: ReadonlySet<unknown> = new Set([0, 3]);

function expected({ functionName, args }: Asked["call"]): readonly ExpectedEvent[] | null {
  if (functionName === "openTrade") {
    const [trade, type] = args as readonly [{ readonly pairIndex: bigint; readonly buy: boolean }, number];
    return [openEvent({ pairIndex: trade.pairIndex, isBuy: trade.buy, isMarket: MARKET_TYPES.has(type) })];
  }
  const [pair, index, newSl] = args as readonly bigint[];
  if (pair === undefined || index === undefined) return null;
  if (functionName === "closeTradeMarket") return [orderEvent(pair, { open: false })];
  if (functionName === "cancelOpenLimitOrder") return [slotEvent("OpenLimitCanceled", pair, index)];
  if (functionName === "updateOpenLimitOrder") return [slotEvent("OpenLimitUpdated", pair, index)];
  if (functionName === "updateMargin") return [slotEvent("MarginUpdated", pair, index)];
  return functionName === "updateTpAndSl" ? [slotEvent("SlUpdated", pair, index, { newSl })] : null;
}

const notOwn = ({ from, to }: Transaction, txHash: Hex): VenuefiveTradeError =>
  new VenuefiveTradeError("NOT_OWN_TRANSACTION", "the transaction is no trade of the connected account's", {
    ...{ outcome: "unknown", txHash, details: { from, to } },
  });

/** What keeps a transaction from being followed says nothing of the transaction. */
export function notFollowed(thrown: unknown, txHash: Hex): VenuefiveTradeError {
  const error = typedError(thrown);
  if (error.txHash !== null || error.code === "INVALID_PARAMETERS") return error;
  const { code, message, stage, details, cause } = error;
  return new VenuefiveTradeError(code, message, { outcome: "unknown", stage, txHash, details, cause });
}
