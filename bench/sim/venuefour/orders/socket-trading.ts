/**
 * Orders over the socket, fact sheet section 7: `{id, params: {<operation>: <signed body>}}`. The answer is sent before
 * the updates that the operation causes. A request whose id cannot be read is answered without one.
 */
import type { SimSocket } from "../../core/server/server-types.js";
import type { ActionResult, Actions } from "./actions.js";
import type { VenuefourContext } from "./context.js";
import type { Credits } from "../records/credits.js";
import { VenuefourRefusal } from "../wire/errors.js";
import { isObject, type OperationName, SOCKET_OPERATIONS } from "../wire/operations.js";

const BATCH = "batch_orders";
const OK = 200;

/** @testonly What README.md lists. */
export const SOCKET_CALLS: readonly string[] = [...SOCKET_OPERATIONS, BATCH];

export interface SocketTradingDeps {
  readonly context: VenuefourContext;
  readonly actions: Actions;
  readonly credits: Credits;
  /** Publishes what operations caused; called after the answer. */
  flush(): void;
  nowMs(): number;
}

export class SocketTrading {
  readonly #deps: SocketTradingDeps;

  constructor(deps: SocketTradingDeps) {
    this.#deps = deps;
  }

  /** Returns false for a message that is no order. The config key is that of the connection. */
  take(socket: SimSocket, message: Readonly<Record<string, unknown>>, configKey: string | undefined): boolean {
    const { id, params } = message;
    if (!isObject(params)) return false;
    const [name, ...others] = Object.keys(params);
    if (name === undefined || others.length > 0 || !(SOCKET_OPERATIONS.has(name) || name === BATCH)) return false;
    void this.#run(socket, name, params[name], typeof id === "string" ? id : null, configKey);
    return true;
  }

  async #run(
    socket: SimSocket,
    name: string,
    body: unknown,
    id: string | null,
    configKey: string | undefined,
  ): Promise<void> {
    const { context, actions, credits, flush, nowMs } = this.#deps;
    const spender = { configKey, remoteAddress: socket.remoteAddress, nowMs: nowMs() };
    const { isAllowed, rl } = credits.spend(spender, name, context.limits);
    const common = { ...(id === null ? {} : { id }), rl, type: name };
    try {
      if (!isAllowed) throw new VenuefourRefusal(429, "Rate limit exceeded", 429);
      const data =
        name === BATCH
          ? { results: await actions.runBatch(body) }
          : shown(await actions.run(name as OperationName, body), name);
      socket.reply(JSON.stringify({ code: OK, data, ...common, t: context.exchange.nowMs() }));
    } catch (error) {
      if (!(error instanceof VenuefourRefusal)) throw error;
      const refusal = { code: error.socketCode, err: error.message };
      socket.reply(JSON.stringify({ ...refusal, ...common, t: context.exchange.nowMs() }));
    } finally {
      flush();
    }
  }
}

/** `i` is null where the request named a client id. */
function shown(result: ActionResult, name: string): unknown {
  if (name === "cancel_all_orders") return result.data;
  return { I: result.clientId, i: result.orderId, s: result.symbol };
}
