/**
 * An endpoint between a room and a local chain, with the faults of a real one. Every call that arrives is kept, by method;
 * a request is a batch or one call.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface ProxiedCall {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What is done with a request; null: it is passed on. */
export type Fault = (calls: readonly ProxiedCall[], response: ServerResponse) => boolean;
/** Changes one answer, or promises to; undefined: it stays. */
export type Twist = (call: ProxiedCall, result: unknown) => unknown;

/** Of another block: never the same one, whatever it begins with. */
export function anotherHash(hash: string): string {
  return `0x${hash[2] === "f" ? "e" : "f"}${hash.slice(3)}`;
}

export class RpcProxy {
  /** By request: the methods in it. */
  readonly requests: (readonly ProxiedCall[])[] = [];
  url = "";
  fault: Fault | null = null;
  twist: Twist | null = null;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(target: string) {
    this.#target = target;
    this.#server.keepAliveTimeout = 0;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(path = "/"): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
    return this;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** Requests that ask what a wallet has: how many, or the pages. */
  walletReads(): readonly (readonly ProxiedCall[])[] {
    return this.requests.filter((calls) =>
      calls.some(({ method, params }) => method === "eth_call" && WALLET_CALL.test(JSON.stringify(params))),
    );
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const sent = JSON.parse(body) as ProxiedCall | ProxiedCall[];
    const calls = Array.isArray(sent) ? sent : [sent];
    this.requests.push(calls);
    if (this.fault?.(calls, response) === true) return;
    const answer = await fetch(this.#target, { method: "POST", headers: HEADERS, body });
    const text = await answer.text();
    const twisted = this.twist === null ? text : await this.#twisted(calls, text);
    response.writeHead(answer.status, HEADERS);
    response.end(twisted);
  }

  async #twisted(calls: readonly ProxiedCall[], text: string): Promise<string> {
    const parsed = JSON.parse(text) as Answer | Answer[];
    const one = async (answer: Answer): Promise<Answer> => {
      const call = calls.find(({ id }) => id === answer.id);
      if (call === undefined || this.twist === null) return answer;
      const result = await this.twist(call, answer.result);
      return result === undefined ? answer : { jsonrpc: "2.0", id: answer.id, result };
    };
    return JSON.stringify(Array.isArray(parsed) ? await Promise.all(parsed.map(one)) : await one(parsed));
  }
}

interface Answer {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly result?: unknown;
}

const HEADERS = { "content-type": "application/json" };
/** `aggregate3` and `getPositionsForPairIndexes`. */
const WALLET_CALL = /"data":"0x(?:82ad56cb|e06e2675)/;
