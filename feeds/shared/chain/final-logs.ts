/**
 * Logs of a contract that are final: as many endpoints as must agree show the same log in the same block, as deep as makes
 * a transaction final. One endpoint alone brings about neither a log nor its absence.
 *
 * An endpoint's chain may change between two calls, so its order is that of receipts.ts: the logs first, then the head, then
 * the block of each log, which must be the log's. Behind one name are servers of which one may lag: the newest part of what
 * is final is read again by the next search.
 */
import type { LogSearch, LogsFound } from "../../../engine/chain.js";
import type { RpcResult } from "./rpc-endpoint.js";
import { readBlock, readCount, readLogs, toQuantity, type WireLog } from "./rpc-wire.js";

/** Of one search; endpoints refuse longer ones. */
const BLOCKS_MAX = 2_000;
/** Read again. */
const OVERLAP_BLOCKS = 1_000;
/** More that fit are no answer to what is searched for. */
const LOGS_MAX = 200;

export interface LogPart extends LogSearch {
  readonly toHeight: number;
  /** The highest that as many as must agree have deep enough. */
  readonly finalHeight: number;
}

export interface FinalLogsRule {
  readonly confirmations: number;
  readonly agreement: number;
}

export type LogCall = <T>(
  method: string,
  params: readonly unknown[],
  read: (result: unknown) => T,
) => Promise<RpcResult<T>>;

/** Up to `toHeight`, below `fromHeight` where nothing is final yet. Null: fewer than must agree name a height. */
export function partOf(
  search: LogSearch,
  heads: readonly (number | null)[],
  { confirmations, agreement }: FinalLogsRule,
): LogPart | null {
  const known = heads.filter((head) => head !== null).sort((left, right) => right - left);
  const head = known[agreement - 1];
  if (head === undefined) return null;
  const finalHeight = head - confirmations + 1;
  return { ...search, toHeight: Math.min(search.fromHeight + BLOCKS_MAX - 1, finalHeight), finalHeight };
}

/** What one endpoint shows of the part; null: it says nothing of it, or contradicts itself. */
export async function logsOf(call: LogCall, part: LogPart, confirmations: number): Promise<readonly WireLog[] | null> {
  const { contract, topics, fromHeight, toHeight } = part;
  const filter = { address: contract, topics, fromBlock: toQuantity(fromHeight), toBlock: toQuantity(toHeight) };
  const logs = await call("eth_getLogs", [filter], (value) => readLogs(value, part));
  if (logs.kind !== "value" || logs.value.length > LOGS_MAX) return null;
  const head = await call("eth_blockNumber", [], (value) => readCount(value, "height"));
  if (head.kind !== "value" || head.value < toHeight + confirmations - 1) return null;
  const blocks = new Map(logs.value.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]));
  for (const { blockNumber, blockHash } of logs.value) if (blocks.get(blockNumber) !== blockHash) return null;
  for (const [height, hash] of blocks) {
    const block = await call("eth_getBlockByNumber", [toQuantity(height), false], readBlock);
    if (block.kind !== "value" || block.value?.number !== height || block.value.hash !== hash) return null;
  }
  return logs.value;
}

/** Null: fewer have said anything than must agree. */
export function agreedLogs(
  views: readonly (readonly WireLog[] | null)[],
  part: LogPart,
  agreement: number,
): LogsFound | null {
  const said = views.filter((view) => view !== null);
  if (said.length < agreement) return null;
  const byText = new Map<string, { readonly log: WireLog; count: number }>();
  for (const view of said)
    for (const [text, log] of new Map(view.map((one) => [textOf(one), one]))) {
      const shown = byText.get(text) ?? { log, count: 0 };
      byText.set(text, { log, count: shown.count + 1 });
    }
  const all = [...byText.values()];
  const logs = all
    .filter(({ count }) => count >= agreement)
    .map(({ log }) => log)
    .sort((left, right) => left.blockNumber - right.blockNumber || left.logIndex - right.logIndex)
    .map(({ address, topics, data, hash }) => ({ address, topics, data, hash }));
  // Neither shown by enough nor left out by enough: it is asked for again.
  const isOpen = all.some(({ count }) => count < agreement && said.length - count < agreement);
  const { fromHeight, toHeight, finalHeight } = part;
  const passed = Math.max(fromHeight, Math.min(toHeight + 1, finalHeight + 1 - OVERLAP_BLOCKS));
  return { logs, nextHeight: isOpen ? fromHeight : passed, isAtEnd: !isOpen && toHeight === finalHeight };
}

function textOf({ address, topics, data, hash, blockNumber, blockHash, logIndex }: WireLog): string {
  return JSON.stringify([address, topics, Buffer.from(data).toString("hex"), hash, blockNumber, blockHash, logIndex]);
}
