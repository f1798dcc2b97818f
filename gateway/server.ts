/**
 * The HTTP server: routes, rate limits, metrics on one uWebSockets.js app.
 *
 * Invariants: listens on one address; after `stop` no new connection is taken, closes under way are waited for
 * up to a bound, then every connection is closed. A handler never throws into native code.
 */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import uws, { type us_listen_socket } from "uWebSockets.js";
import { type Clock, delay } from "../engine/domain/clock.js";
import type { CloseDefaults } from "./close-request.js";
import { BodyReader } from "./http/body.js";
import { Edge } from "./http/edge.js";
import { type BucketRules, RateLimiter } from "./http/limiter.js";
import { mountRoutes } from "./http/mount.js";
import type { ServiceLogger } from "./log.js";
import type { MarketView } from "./market-view.js";
import type { Metrics } from "./metrics.js";
import type { CloseDesk } from "./ports.js";
import { bookRoutes } from "./routes/books.js";
import type { RouteContext, RouteLimits } from "./routes/context.js";
import { executionRoute } from "./routes/execution.js";
import { instrumentsRoute } from "./routes/instruments.js";
import { positionCloseRoute } from "./routes/position-close.js";
import { routingDryRunRoute } from "./routes/routing-dry-run.js";
import { serviceRoutes } from "./routes/service-info.js";
import { tickerRoutes } from "./routes/tickers.js";
import { isLoopback } from "./server-address.js";
import { StartError } from "./start-error.js";

export interface ServerOptions extends RouteLimits {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly rateLimits: BucketRules;
  readonly rateLimitCallersMax: number;
  readonly corsAllowOrigin: string;
  readonly targetBytesMax: number;
  readonly closeDefaults: CloseDefaults;
  readonly venuetwoTickerRefused: boolean;
  readonly version: string;
}

export interface ServerParts {
  readonly clock: Clock;
  readonly logger: ServiceLogger;
  readonly view: MarketView;
  readonly desk: CloseDesk;
  readonly metrics: Metrics;
}

export interface Server {
  readonly port: number;
  readonly url: string;
  /** Stops listening, refuses new closes, waits for those under way at most `graceMs`, closes all connections. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

/** What the native module has beyond its type declarations (checked in its source, 2026-11-21). */
const native = uws as unknown as { _cfg(key: string): void; readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number };

interface NativeListener {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}

/** How often a stopping server looks whether the last close has ended. */
const DRAIN_POLL_MS = 5;
/** Leaves the server's own name out of the reply headers. */
const SILENT = "999999990007";

export async function startServer(options: ServerOptions, parts: ServerParts): Promise<Server> {
  native._cfg(SILENT);
  const { clock, logger, metrics } = parts;
  const limiter = new RateLimiter(options.rateLimits, options.rateLimitCallersMax);
  const edge = new Edge({
    clock,
    logger,
    limiter,
    idPrefix: `${randomBytes(5).toString("hex")}-`,
    corsAllowOrigin: options.corsAllowOrigin,
    loopbackOnly: isLoopback(options.host),
    targetBytesMax: options.targetBytesMax,
  });
  const bodies = new BodyReader(clock, options);
  const inFlight = { closes: 0 };
  const context: RouteContext = {
    edge,
    clock,
    view: parts.view,
    desk: parts.desk,
    bodies,
    metrics,
    limits: options,
    closeDefaults: options.closeDefaults,
    venuetwoTickerRefused: options.venuetwoTickerRefused,
    version: options.version,
    startedAtMs: clock.wallMs(),
    inFlight,
  };
  metrics.attach({
    routes: edge.routes,
    rooms: parts.view.rooms,
    inFlight,
    callerCount: () => limiter.callerCount,
    openBodyCount: () => bodies.openCount,
    unknownOrderCount: () => parts.desk.unknownOrders(0).count,
    redactedLogFieldCount: () => logger.redactedCount,
  });
  const app = uws.App();
  mountRoutes(
    app,
    edge,
    [
      positionCloseRoute(context),
      routingDryRunRoute(context),
      executionRoute(context),
      ...tickerRoutes(context),
      ...bookRoutes(context),
      instrumentsRoute(context),
      ...serviceRoutes(context),
    ],
    options.corsAllowOrigin,
  );
  let socket: us_listen_socket | null = await listen(app, options.host, options.port);
  const port = uws.us_socket_local_port(socket);

  return {
    port,
    url: `http://${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${port}`,
    async stop(graceMs) {
      if (socket === null) return;
      edge.closing = true;
      uws.us_listen_socket_close(socket);
      socket = null;
      const untilNs = clock.monoNs() + graceMs * 1e6;
      while ((inFlight.closes > 0 || bodies.openCount > 0) && clock.monoNs() < untilNs)
        await delay(clock, DRAIN_POLL_MS);
      if (inFlight.closes > 0) logger.warn("server.drain_incomplete", { closes: inFlight.closes });
      bodies.stop();
      app.close();
      metrics.stop();
    },
  };
}

function listen(app: ReturnType<typeof uws.App>, host: string, port: number): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    // An exclusive port: without it a second process would silently share the address.
    (app as unknown as NativeListener).listen(host, port, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false)
        reject(
          new StartError([`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`]),
        );
      else resolve(socket);
    });
  });
}
