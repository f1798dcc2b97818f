/** A JSON-RPC server on loopback, whose answers the test writes. Every call is kept. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface ScriptedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What a method answers: a result, or one of the below. */
export type Reply = (params: readonly unknown[], call: ScriptedCall) => unknown;

export class RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    this.code = code;
    this.message = message;
    this.data = data;
  }
}

/** The whole body, and the status of it. */
export class RawBody {
  readonly text: string;
  readonly status: number;

  constructor(text: string, status = 200) {
    this.text = text;
    this.status = status;
  }
}

/** No answer at all. */
export const HANG = Symbol("hang");
/** The connection is cut. */
export const CUT = Symbol("cut");

export class ScriptedEndpoint {
  readonly calls: ScriptedCall[] = [];
  /** Requests of several calls. */
  readonly batches: (readonly ScriptedCall[])[] = [];
  /** With its path and query. */
  url = "";
  readonly headers: Readonly<Record<string, string | string[] | undefined>>[] = [];
  replies: Record<string, Reply>;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      this.headers.push({ ...request.headers, path: request.url });
      const sent = JSON.parse(Buffer.concat(chunks).toString()) as ScriptedCall | ScriptedCall[];
      if (Array.isArray(sent)) this.#answerAll(sent, response);
      else this.#answer(sent, response);
    });
  });

  constructor(replies: Record<string, Reply>) {
    this.replies = replies;
    // A connection that the pool keeps is never closed under it.
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

  methods(): readonly string[] {
    return this.calls.map(({ method }) => method);
  }

  countOf(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  /** The last first, as an endpoint may. A reply that is none of a result decides the whole. */
  #answerAll(calls: readonly ScriptedCall[], response: ServerResponse): void {
    this.calls.push(...calls);
    this.batches.push(calls);
    const replies = calls.map((call) => this.#replyTo(call));
    if (replies.includes(HANG)) return;
    if (replies.includes(CUT)) return void response.destroy();
    const raw = replies.find((reply) => reply instanceof RawBody);
    response.writeHead(raw instanceof RawBody ? raw.status : 200, { "content-type": "application/json" });
    const parts = replies.map((reply, at) => ({
      ...{ jsonrpc: "2.0", id: calls[at]?.id },
      ...(reply instanceof RpcFault ? { error: { ...reply } } : { result: reply }),
    }));
    response.end(raw instanceof RawBody ? raw.text : JSON.stringify(parts.reverse()));
  }

  #replyTo(call: ScriptedCall): unknown {
    const reply = this.replies[call.method];
    return reply === undefined ? new RpcFault(-32601, "method not found") : reply(call.params, call);
  }

  #answer(call: ScriptedCall, response: ServerResponse): void {
    this.calls.push(call);
    const result = this.#replyTo(call);
    if (result === HANG) return;
    if (result === CUT) return void response.destroy();
    const isRaw = result instanceof RawBody;
    response.writeHead(isRaw ? result.status : 200, { "content-type": "application/json" });
    const part = result instanceof RpcFault ? { error: { ...result } } : { result };
    response.end(isRaw ? result.text : JSON.stringify({ jsonrpc: "2.0", id: call.id, ...part }));
  }
}
