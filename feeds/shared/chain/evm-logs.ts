/** Logs of a chain over several endpoints: the port ChainLogs of engine/chain.ts. */
import type { ChainLogs, LogSearch, LogsFound } from "../../../engine/chain.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import { agreedLogs, type LogCall, logsOf, partOf } from "./final-logs.js";
import { heightAt } from "./height-at.js";
import type { RpcEndpoint } from "./rpc-endpoint.js";
import type { RpcPool } from "./rpc-pool.js";
import { readCount } from "./rpc-wire.js";

export class EvmLogs implements ChainLogs {
  readonly #pool: RpcPool;
  readonly #confirmations: number;
  readonly #clock: Clock;

  constructor(pool: RpcPool, confirmations: number, clock: Clock) {
    this.#pool = pool;
    this.#confirmations = confirmations;
    this.#clock = clock;
  }

  /**
   * Of what they say, one that so many name or a higher one as must agree: of more than that, who names a height far from
   * the others' moves nothing. Of no more the lowest.
   */
  async heightAt(timeMs: number, options: CallOptions): Promise<Read<number>> {
    const answers = await this.#pool.each((endpoint, left) => heightAt(this.#callOf(endpoint, left), timeMs), options);
    const heights = answers.filter((height) => height !== null).sort((left, right) => right - left);
    const height = heights[this.#pool.agreement - 1];
    return height === undefined ? TOO_FEW : this.#ok(height);
  }

  async final(search: LogSearch, options: CallOptions): Promise<Read<LogsFound>> {
    const deadline = new Deadline(this.#clock, options);
    const heads = await this.#pool.each((endpoint, left) => headOf(endpoint, left), options);
    const { agreement } = this.#pool;
    const part = partOf(search, heads, { confirmations: this.#confirmations, agreement });
    const rest = deadline.left();
    if (part === null || rest === null) return TOO_FEW;
    if (part.toHeight < part.fromHeight) return this.#ok({ logs: [], nextHeight: part.fromHeight, isAtEnd: true });
    const views = await this.#pool.each(
      (endpoint, left) => logsOf(this.#callOf(endpoint, left), part, this.#confirmations),
      rest,
    );
    const found = agreedLogs(views, part, agreement);
    return found === null ? TOO_FEW : this.#ok(found);
  }

  /** All calls have the time together. */
  #callOf(endpoint: RpcEndpoint, options: CallOptions): LogCall {
    const deadline = new Deadline(this.#clock, options);
    return async (method, params, read) => {
      const left = deadline.left();
      return left === null ? OUT_OF_TIME : endpoint.call(method, params, read, left);
    };
  }

  #ok<T>(value: T): Read<T> {
    return { ok: true, value, asOfMs: this.#clock.wallMs(), source: "venue" };
  }
}

const TOO_FEW = failedRead("VENUE_ERROR", "fewer endpoints answer than must agree");
const OUT_OF_TIME = { kind: "failed", failure: failedRead("TIMEOUT", "no time left"), isSent: false } as const;

async function headOf(endpoint: RpcEndpoint, options: CallOptions): Promise<number | null> {
  const head = await endpoint.call("eth_blockNumber", [], (value) => readCount(value, "height"), options);
  return head.kind === "value" ? head.value : null;
}
