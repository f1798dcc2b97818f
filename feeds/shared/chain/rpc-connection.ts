/** The way to one endpoint: a pool of HTTP connections to its origin, with the bounds of all our clients. */
import { HttpPool, type HttpPoolOptions } from "../net/http-pool.js";
import type { VenueHttp } from "../net/http.js";

export interface RpcConnection {
  readonly http: VenueHttp;
  /** Path and query of each call. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  close(graceMs: number): Promise<void>;
}

/** Receipts are the largest answers: of our transactions some kilobytes. */
const BODY_BYTES_MAX = 1024 * 1024;
const CONNECTIONS = 8;
const EXIT_CONNECTIONS = 2;
const CONTENT_TYPE = { "content-type": "application/json" };

export function connectRpc(
  url: URL,
  options: Pick<HttpPoolOptions, "name" | "clock" | "random" | "logger" | "connectTimeoutMs"> & {
    readonly callsPerMinute: number;
    /** Default 1 MiB. */
    readonly maxBodyBytes?: number;
  },
): RpcConnection {
  const { callsPerMinute, maxBodyBytes = BODY_BYTES_MAX, ...common } = options;
  const http = new HttpPool({
    ...common,
    baseUrl: url.origin,
    budget: callsPerMinute,
    budgetWindowMs: 60_000,
    accountLimits: [],
    connections: CONNECTIONS,
    exitConnections: EXIT_CONNECTIONS,
    maxBodyBytes,
  });
  return {
    http,
    path: `${url.pathname}${url.search}`,
    headers: url.username === "" ? CONTENT_TYPE : { ...CONTENT_TYPE, authorization: basic(url) },
    close: (graceMs) => http.close(graceMs),
  };
}

function basic({ username, password }: URL): string {
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}
