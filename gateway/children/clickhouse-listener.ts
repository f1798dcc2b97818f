/** The loopback HTTP server of the dialect: its address, its time limits, its shutdown. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Dialect, type DialectOptions } from "./dialect.js";

const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 60_000;
/** Longer than the client's idle time, so that a kept connection is not closed during a request. */
const KEEP_ALIVE_MS = 30_000;

export interface ListenerOptions extends DialectOptions {
  /** Used if it is free, else any. */
  readonly port: number;
}

export interface Listener {
  readonly port: number;
  /** Accepts no new requests; waits for running ones, up to `waitMs`. */
  close(waitMs: number): Promise<void>;
}

export async function startListener(options: ListenerOptions): Promise<Listener> {
  const dialect = new Dialect(options);
  const server = createServer((request, response) => void dialect.serve(request, response));
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = BODY_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, options.port);
  return {
    port: (server.address() as AddressInfo).port,
    async close(waitMs) {
      server.close();
      server.closeIdleConnections();
      await Promise.race([dialect.idle(), new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
      server.closeAllConnections();
      dialect.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  const attempt = (candidate: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(candidate, "127.0.0.1", () => {
        server.removeListener("error", reject);
        resolve();
      });
    });
  try {
    await attempt(port);
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    // Another program took the port while this process was away; the supervisor gets the new one.
    await attempt(0);
  }
}
