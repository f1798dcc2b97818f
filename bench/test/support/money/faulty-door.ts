/**
 * The way of one life of the service to one server, which may lose a request, lose or keep its answer, deliver it late, or
 * answer something else. It ends with the life: what a dead service has not sent is never sent.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import type { WorldTime } from "./world-time.js";

export interface DoorRequest {
  readonly path: string;
  readonly body: string;
}

export type Verdict =
  | { readonly kind: "pass" }
  /** `isDelivered`: the server has it; the sender hears nothing at once, or never. */
  | { readonly kind: "cut" | "hang"; readonly isDelivered: boolean }
  /** Arrives so late, whether or not its sender still waits. */
  | { readonly kind: "late"; readonly delayMs: number }
  | { readonly kind: "answer"; readonly body: string };

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Judge = (request: DoorRequest, ask: (body: string) => Promise<string>) => Promise<Verdict>;

export class FaultyDoor {
  readonly #server: Server;
  readonly #upstream: Pool;
  readonly #time: WorldTime;
  readonly #judge: Judge;

  private constructor(targetUrl: string, time: WorldTime, judge: Judge) {
    this.#upstream = new Pool(targetUrl, { connections: 16, pipelining: 1 });
    this.#time = time;
    this.#judge = judge;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // No connection ends by itself: that would look like a fault.
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 0;
  }

  static async open(targetUrl: string, time: WorldTime, judge: Judge): Promise<FaultyDoor> {
    const door = new FaultyDoor(targetUrl, time, judge);
    await new Promise<void>((resolve) => door.#server.listen(0, "127.0.0.1", resolve));
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const path = request.url ?? "/";
    const deliver = (text = body): Promise<Answer> => this.#deliver(request, path, text);
    const verdict = await this.#judge({ path, body }, async (text) => (await deliver(text)).body);
    switch (verdict.kind) {
      case "pass":
        return reply(response, await deliver());
      case "answer":
        return reply(response, { status: 200, headers: { "content-type": "application/json" }, body: verdict.body });
      case "cut":
        if (verdict.isDelivered) await deliver();
        response.destroy();
        return;
      case "hang":
        if (verdict.isDelivered) await deliver();
        this.#hold(response);
        return;
      case "late":
        this.#hold(response);
        this.#time.clock.setTimer(() => {
          this.#time.held.delete(response);
          deliver().then(
            (answer) => reply(response, answer),
            () => response.destroy(),
          );
        }, verdict.delayMs);
    }
  }

  #hold(response: ServerResponse): void {
    if (response.destroyed) return;
    this.#time.held.add(response);
    response.once("close", () => this.#time.held.delete(response));
  }

  async #deliver({ method = "GET", headers }: IncomingMessage, path: string, body: string): Promise<Answer> {
    const { host: _host, connection: _connection, "content-length": _length, ...kept } = headers;
    const answer = await this.#upstream.request({
      ...{ method: method as "GET" | "POST", path, headers: kept as Record<string, string> },
      ...(body === "" ? {} : { body }),
    });
    const { connection: _of, "transfer-encoding": _coding, ...own } = answer.headers;
    return { status: answer.statusCode, headers: own as Record<string, string>, body: await answer.body.text() };
  }
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
