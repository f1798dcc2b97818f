/** What an endpoint of a chain does to one call: nothing, or what endpoints have been seen to do. */
import type { Judge, Verdict } from "./faulty-door.js";

export type EndpointMood =
  | "fine"
  /** Answers nothing after it has taken a transaction. */
  | "unheard"
  | "lost"
  | "slow"
  /** Shows the chain as it was some blocks ago. */
  | "lagging"
  /** As it was before anything that is final now. */
  | "behind"
  | "liesOfBalances"
  | "liesOfReceipts"
  | "otherChain";

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const LAG_BLOCKS = { lagging: 2, behind: 30 } as const;
const LATE_MS = 8_000;
const PASS: Verdict = { kind: "pass" };

export interface MoodOf {
  mood(): EndpointMood;
  /** Of a part of the calls. */
  strikes(): boolean;
  struck(name: string): void;
}

export function endpointJudge(of: MoodOf): Judge {
  return async ({ body }, ask) => {
    const call = JSON.parse(body) as Call;
    const mood = of.mood();
    const isSend = call.method === "eth_sendRawTransaction";
    const hit = (verdict: Verdict): Verdict => {
      of.struck(`endpoint ${mood}`);
      return verdict;
    };
    switch (mood) {
      case "fine":
        return PASS;
      case "unheard":
        return isSend && of.strikes() ? hit({ kind: "hang", isDelivered: true }) : PASS;
      case "lost":
        return of.strikes() ? hit({ kind: "cut", isDelivered: of.strikes() }) : PASS;
      case "slow":
        return of.strikes() ? hit({ kind: "late", delayMs: LATE_MS }) : PASS;
      case "otherChain":
        return call.method === "eth_chainId" ? hit(answer(call, "0x1f")) : PASS;
      case "liesOfBalances":
        return liedBalance(call, hit);
      case "liesOfReceipts":
        return call.method === "eth_getTransactionReceipt" ? liedReceipt(await ask(body), hit) : PASS;
      case "lagging":
      case "behind":
        return lagged(call, LAG_BLOCKS[mood], ask, hit);
    }
  };
}

type Hit = (verdict: Verdict) => Verdict;

function answer({ id }: Pick<Call, "id">, result: unknown): Verdict {
  return { kind: "answer", body: JSON.stringify({ jsonrpc: "2.0", id, result }) };
}

function liedBalance(call: Call, hit: Hit): Verdict {
  if (call.method === "eth_getBalance") return hit(answer(call, "0xffffffffffffffffff"));
  const data = (call.params[0] as { readonly data?: string } | undefined)?.data ?? "";
  const isBalance = call.method === "eth_call" && data.startsWith("0x70a08231");
  return isBalance ? hit(answer(call, `0x${"f".repeat(24).padStart(64, "0")}`)) : PASS;
}

/** Says that what succeeded was undone, and the reverse. */
function liedReceipt(text: string, hit: Hit): Verdict {
  const { id, result } = JSON.parse(text) as { readonly id: number; readonly result: { status: string } | null };
  if (result === null) return { kind: "answer", body: text };
  const status = result.status === "0x1" ? "0x0" : "0x1";
  return hit(answer({ id }, { ...result, status, logs: [] }));
}

async function lagged(call: Call, blocks: number, ask: (body: string) => Promise<string>, hit: Hit): Promise<Verdict> {
  const askAs = async (method: string, params: readonly unknown[]): Promise<unknown> =>
    (JSON.parse(await ask(JSON.stringify({ ...call, method, params }))) as { readonly result?: unknown }).result;
  const head = Number(await askAs("eth_blockNumber", [])) - blocks;
  const at = `0x${Math.max(0, head).toString(16)}`;
  if (call.method === "eth_blockNumber") return hit(answer(call, at));
  if (call.method === "eth_getTransactionReceipt" || call.method === "eth_getTransactionByHash") {
    const found = (await askAs(call.method, call.params)) as { readonly blockNumber: string | null } | null;
    const isNew = found?.blockNumber != null && Number(found.blockNumber) > head;
    return isNew ? hit(answer(call, null)) : answer(call, found);
  }
  if (call.method === "eth_getBlockByNumber" && Number(call.params[0]) > head) return hit(answer(call, null));
  if (!call.params.some((param) => param === "latest" || param === "pending")) return PASS;
  const params = call.params.map((param) => (param === "latest" || param === "pending" ? at : param));
  return hit({ kind: "answer", body: await ask(JSON.stringify({ ...call, params })) });
}
