/** JSON-RPC over HTTP to a local chain: one call, one answer, no retries. */

/** An answer that refuses the call; `code` is the node's, and `data` where it has some, as what a contract reverted with. */
export class ChainRpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(method: string, { code, message, data }: { code: number; message: string; data?: unknown }) {
    super(`${method}: ${message}`);
    this.code = code;
    this.data = data;
  }
}

export type ChainRpc = (method: string, params?: readonly unknown[]) => Promise<unknown>;

/** Ends a call that a hanging process would never answer; far above what a busy machine takes. */
const CALL_MS_MAX = 60_000;

/** Throws ChainRpcError where the node refuses, and what `fetch` throws where nobody answers. */
export function chainRpc(url: string): ChainRpc {
  let id = 0;
  return async (method, params = []) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
      signal: AbortSignal.timeout(CALL_MS_MAX),
    });
    const answer = (await response.json()) as {
      result?: unknown;
      error?: { code: number; message: string; data?: unknown };
    };
    if (answer.error !== undefined) throw new ChainRpcError(method, answer.error);
    return answer.result;
  };
}

export interface ChainReceipt {
  readonly status: "0x0" | "0x1";
  readonly blockNumber: `0x${string}`;
  readonly effectiveGasPrice: `0x${string}`;
}

const MINED_MS_MAX = 60_000;
const POLL_MS = 5;

/** Waits for the transaction's block: even a chain that makes one at once answers the sender first. Throws after a minute. */
export async function minedReceipt(rpc: ChainRpc, hash: string): Promise<ChainReceipt> {
  const endMs = performance.now() + MINED_MS_MAX;
  for (;;) {
    const receipt = (await rpc("eth_getTransactionReceipt", [hash])) as ChainReceipt | null;
    if (receipt !== null) return receipt;
    if (performance.now() > endMs) throw new Error(`${hash} is in no block`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
