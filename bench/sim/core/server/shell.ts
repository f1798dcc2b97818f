/**
 * HTTP and WebSocket front of a local venue. Knows sockets and faults, no protocol: the room answers requests and
 * frames. A faulted request is refused before the room executes it, or cut afterwards: what is "executed but not
 * answered" was executed. Binds 127.0.0.1 only.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../../../engine/domain/clock.js";
import type { SimControl } from "./control.js";
import { BACKLOG_BYTES_MAX, SocketEnd } from "./socket-end.js";
import type { FaultInjector } from "./faults.js";
import type { ShellStats, ShellView, SimHttpReply, SimHttpRequest, SimProtocol, SimSocket } from "./server-types.js";

export interface ShellOptions {
  readonly clock: Clock;
  /** 0 or absent: a free port. */
  readonly port?: number;
  readonly faults: FaultInjector;
  readonly protocol: SimProtocol;
  readonly control: SimControl;
  /** Bytes waiting for a reader before it is cut; default 32 MiB. */
  readonly backlogBytesMax?: number;
}

const BODY_BYTES_MAX = 1024 * 1024;
const FRAME_BYTES_MAX = 1024 * 1024;
const CONTENT_TYPE = "application/json;charset=UTF-8";

export async function startShell(options: ShellOptions): Promise<SimShell> {
  const shell = new SimShell(options);
  await shell.listen(options.port ?? 0);
  return shell;
}

export class SimShell implements ShellView {
  readonly #options: ShellOptions;
  readonly #server: Server;
  readonly #upgrader = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    autoPong: false,
  });
  readonly #sockets = new Set<SocketEnd>();
  readonly stats: ShellStats = { httpCount: 0, frameCount: 0, frameBytes: 0, socketCount: 0 };
  #nextSocketId = 1;
  #port = 0;

  constructor(options: ShellOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: 75_000 }, (request, response) =>
      this.#onRequest(request, response),
    );
    this.#server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    // A client may cut in the middle of its request; nothing follows from it.
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  get port(): number {
    return this.#port;
  }

  get sockets(): ReadonlySet<SimSocket> {
    return this.#sockets;
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    this.#upgrader.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /* ---------------------------------------------------------------- http */

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) request.destroy();
      else chunks.push(chunk);
    });
    request.on("error", () => response.destroy());
    request.on("end", () => {
      this.stats.httpCount++;
      const url = request.url ?? "/";
      const mark = url.indexOf("?");
      const whole: SimHttpRequest = {
        method: request.method ?? "GET",
        path: mark < 0 ? url : url.slice(0, mark),
        query: mark < 0 ? "" : url.slice(mark + 1),
        headers: request.headers as SimHttpRequest["headers"],
        body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks),
        remoteAddress: request.socket.remoteAddress ?? "",
        receivedMs: this.#options.clock.wallMs(),
      };
      this.#answer(whole, response).catch((error: unknown) => {
        // A bug of the room: answer like a venue whose backend failed, and make it visible.
        process.emitWarning(error instanceof Error ? error : String(error));
        this.#write(response, {
          status: 500,
          body: "<html><body>500 Internal Server Error</body></html>",
          contentType: "text/html",
        });
      });
    });
  }

  async #answer(request: SimHttpRequest, response: ServerResponse): Promise<void> {
    const { protocol, control, faults } = this.#options;
    if (request.path.startsWith(control.prefix)) {
      this.#write(response, await control.handle(request, this));
      return;
    }
    // The verdict object is reused by the injector: copy before anything asynchronous.
    const verdict = { ...faults.onRequest(`${request.method} ${request.path}`) };
    if (verdict.before === "drop") {
      response.destroy();
      return;
    }
    if (verdict.holdMs > 0)
      await new Promise<void>((resolve) => void this.#options.clock.setTimer(resolve, verdict.holdMs));
    let reply: SimHttpReply;
    if (verdict.before !== "none") reply = protocol.faultReply(verdict.before, verdict, request);
    else {
      const executed = protocol.handleHttp(request);
      reply = executed instanceof Promise ? await executed : executed;
      if (verdict.after === "error") reply = protocol.faultReply("error", verdict, request);
    }
    const finish = (): void => {
      if (verdict.after === "cut") response.destroy();
      else this.#write(response, reply);
    };
    if (verdict.delayMs > 0) this.#options.clock.setTimer(finish, verdict.delayMs);
    else finish();
  }

  #write(response: ServerResponse, reply: SimHttpReply): void {
    if (response.destroyed || response.headersSent) return;
    response.writeHead(reply.status, {
      "content-type": reply.contentType ?? CONTENT_TYPE,
      "content-length": Buffer.byteLength(reply.body),
      // By the venue's own clock, which a fault can move.
      date: new Date(this.#options.clock.wallMs() + this.#options.faults.clockSkewMs()).toUTCString(),
      ...reply.headers,
    });
    response.end(reply.body);
  }

  /* ---------------------------------------------------------------- ws */

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Until ws takes over, a reset of the raw socket has no other listener.
    socket.on("error", () => socket.destroy());
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const query = mark < 0 ? "" : url.slice(mark + 1);
    const refusal = this.#options.faults.onHandshake(path) || this.#options.protocol.acceptSocket(path, query);
    if (refusal) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#upgrader.handleUpgrade(request, socket, head, (webSocket) => {
      const origin = { path, query, remoteAddress: request.socket.remoteAddress ?? "" };
      this.#accept(webSocket, origin);
    });
  }

  #accept(webSocket: WebSocket, origin: { path: string; query: string; remoteAddress: string }): void {
    const { protocol, clock, faults, backlogBytesMax = BACKLOG_BYTES_MAX } = this.#options;
    const end = new SocketEnd(webSocket, this.#nextSocketId++, origin, clock, faults, this.stats, backlogBytesMax);
    this.#sockets.add(end);
    this.stats.socketCount = this.#sockets.size;
    webSocket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) protocol.onSocketMessage(end, data.toString("utf8"));
    });
    webSocket.on("pong", () => protocol.onSocketPong?.(end));
    webSocket.on("ping", () => protocol.onSocketPing?.(end));
    // The close event follows and does the work.
    webSocket.on("error", () => undefined);
    webSocket.on("close", () => {
      this.#sockets.delete(end);
      this.stats.socketCount = this.#sockets.size;
      protocol.onSocketClose(end);
    });
    protocol.onSocketOpen(end);
  }
}
