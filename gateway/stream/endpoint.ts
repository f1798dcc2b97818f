/**
 * The stream on the service's uWebSockets.js app: upgrade, the socket behind the hub's port, close.
 *
 * Invariants: nothing is thrown into native code; a socket is not used after its end, whichever side ended it. Oversize
 * frames up to OVERSIZE_BYTES_MAX are read in order to refuse them with 4400; beyond, the native code drops the
 * connection.
 */
import uws, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_socket_context_t,
  type WebSocket,
  type WebSocketBehavior,
} from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import { STREAM_PATH } from "../../schemas/asyncapi.js";
import { type Edge, forwardedFor } from "../http/edge.js";
import type { Admission } from "../http/reply-state.js";
import type { BucketName } from "../../schemas/service.js";
import type { Connection, StreamSocket } from "./connection.js";
import type { StreamHub } from "./hub.js";
import { CLOSE_SLOW_CONSUMER } from "./limits.js";

/** Most bytes that one connection can make the server hold while a frame arrives. */
const OVERSIZE_BYTES_MAX = 256 * 1024;

const ANON: readonly BucketName[] = ["anon"];

interface SocketData {
  /** The name of its rate limits. */
  readonly address: string;
  readonly addressText: string;
  /** Null until the socket is open. */
  connection: Connection | null;
}

class NativeSocket implements StreamSocket {
  readonly #socket: WebSocket<SocketData>;

  constructor(socket: WebSocket<SocketData>) {
    this.#socket = socket;
  }

  send(text: string): void {
    this.#socket.send(text, false, false);
  }

  ping(payload: string): void {
    this.#socket.ping(payload);
  }

  bufferedBytes(): number {
    return this.#socket.getBufferedAmount();
  }

  join(channel: string): void {
    this.#socket.subscribe(channel);
  }

  leave(channel: string): void {
    this.#socket.unsubscribe(channel);
  }

  end(code: number, reason: string): void {
    this.#socket.end(code, reason);
  }

  cork(run: () => void): void {
    this.#socket.cork(run);
  }
}

/** Mounts the stream; the hub publishes through the same app. */
export function mountStream(app: TemplatedApp, edge: Edge, hub: StreamHub): void {
  const guarded = guardedBy(edge.logger);
  const upgrading = edge.admissionFor({
    counts: edge.countsFor(STREAM_PATH),
    buckets: ANON,
    weight: 0,
    access: "changes",
  });
  app.ws<SocketData>(STREAM_PATH, {
    compression: uws.DISABLED,
    maxPayloadLength: OVERSIZE_BYTES_MAX,
    // The native code drops one frame beyond this, and `dropped` ends the connection.
    maxBackpressure: hub.limits.fatalBufferBytes,
    // connection.ts handles pings, their replies and deadlines.
    idleTimeout: 0,
    sendPingsAutomatically: false,
    upgrade: guarded((response: HttpResponse, request: HttpRequest, context) => {
      if (admitted(edge, response, request, upgrading)) upgrade(edge, response, request, context);
    }),
    ...socketHandlers(hub, guarded),
  });
  const refused = edge.admissionFor({
    counts: edge.countsFor(`${STREAM_PATH} without upgrade`),
    buckets: ANON,
    weight: 1,
    access: "changes",
  });
  app.any(
    STREAM_PATH,
    guarded((response: HttpResponse, request: HttpRequest) => {
      if (admitted(edge, response, request, refused))
        edge.fail(response, new ServiceError("UPGRADE_REQUIRED"), "\r\nUpgrade: websocket");
    }),
  );
}

/** A handler that logs what it throws, because native code cannot take it. */
type Guarded = <A extends readonly unknown[]>(run: (...args: A) => void) => (...args: A) => void;

function guardedBy(logger: Logger): Guarded {
  return (run) =>
    (...args) => {
      try {
        run(...args);
      } catch (error) {
        logger.error("stream.handler_failed", { errorName: error instanceof Error ? error.name : "unknown" });
      }
    };
}

function admitted(edge: Edge, response: HttpResponse, request: HttpRequest, by: Admission): boolean {
  try {
    return edge.admit(response, request, by);
  } catch (error) {
    edge.fail(response, error);
    return false;
  }
}

function upgrade(edge: Edge, response: HttpResponse, request: HttpRequest, context: us_socket_context_t): void {
  if (edge.closing) {
    edge.fail(response, new ServiceError("SHUTTING_DOWN"));
    return;
  }
  const forwarded = forwardedFor(request);
  const data: SocketData = {
    address: edge.addresses.keyOf(response, forwarded),
    addressText: edge.addresses.textOf(response, forwarded),
    connection: null,
  };
  response.upgrade(
    data,
    request.getHeader("sec-websocket-key"),
    // No subprotocol is used.
    "",
    request.getHeader("sec-websocket-extensions"),
    context,
  );
}

/** The handlers of an open socket. */
function socketHandlers(hub: StreamHub, guarded: Guarded): WebSocketBehavior<SocketData> {
  return {
    open: guarded((socket: WebSocket<SocketData>) => {
      const data = socket.getUserData();
      data.connection = hub.connect(new NativeSocket(socket), data.address, data.addressText);
    }),
    message: guarded((socket: WebSocket<SocketData>, message: ArrayBuffer, isBinary: boolean) => {
      const { connection } = socket.getUserData();
      // A view, not a copy: the frame is read within this call.
      if (connection !== null) hub.receive(connection, Buffer.from(message), isBinary);
    }),
    drain: guarded((socket: WebSocket<SocketData>) => {
      socket.getUserData().connection?.catchUp();
    }),
    pong: guarded((socket: WebSocket<SocketData>, message: ArrayBuffer) => {
      const { connection } = socket.getUserData();
      if (connection !== null && !connection.pong(Buffer.from(message).toString("latin1"))) hub.control(connection);
    }),
    ping: guarded((socket: WebSocket<SocketData>) => {
      const { connection } = socket.getUserData();
      if (connection !== null) hub.control(connection);
    }),
    dropped: (socket: WebSocket<SocketData>) => {
      try {
        // This client now lacks a frame, so it cannot be kept.
        socket.getUserData().connection?.end(CLOSE_SLOW_CONSUMER, "SLOW_CONSUMER");
      } catch {
        // `end` flushed and dropped shared frames: the socket is closed already, and its user data with it.
      }
    },
    close: guarded((socket: WebSocket<SocketData>) => {
      socket.getUserData().connection?.gone();
    }),
  };
}
