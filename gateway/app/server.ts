/**
 * The HTTP server: routes, rate limits, metrics on the listener's apps.
 *
 * Invariants: it listens on one address. After `stop` no new connection is accepted, closes under way get a limited
 * time to end, then every connection is closed. A handler never throws into native code.
 */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { randomBytes, randomFillSync } from "node:crypto";
import { isIP } from "node:net";
import type { TemplatedApp } from "uWebSockets.js";
import { type Clock, delay } from "../../engine/domain/clock.js";
import { HiddenCounter } from "../../engine/domain/hidden-counter.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { VenueMoney } from "../../engine/venue-money.js";
import type { PageFacts } from "../../schemas/page-facts.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import { callerOfAsk } from "../accounts/ask-caller.js";
import type { ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import type { Portfolio } from "../../engine/portfolio/portfolio.js";
import type { Recorder } from "../../engine/recorder/recorder.js";
import type { RecordsStore } from "../../engine/storage/records/records-store.js";
import type { TradingDesk } from "../accounts/trading-desk.js";
import type { KeyCounts } from "../../engine/custody/registration/key-keeper.js";
import type { KeyDeskPort } from "../accounts/key-desk.js";
import type { TransferDeskPort } from "../accounts/transfer-desk.js";
import type { WalletDesk } from "../accounts/wallet-desk.js";
import type { CloseDefaults } from "../api/close-request.js";
import { BodyReader } from "../http/body.js";
import type { CallerAuth } from "../http/caller.js";
import { Edge } from "../http/edge.js";
import { InFlight } from "../http/in-flight.js";
import { type BucketRules, RateLimiter } from "../http/limiter.js";
import { mountRoutes } from "../http/mount.js";
import { OriginGuard } from "../http/origin-guard.js";
import type { CertificateView } from "../admin/operations.js";
import { Listener } from "./listener.js";
import type { ServiceLogger } from "./log.js";
import type { MarketView } from "../api/market-view.js";
import type { Metrics } from "./metrics.js";
import type { MoneyFigures } from "./money-metrics.js";
import type { TradeDesk } from "../api/ports.js";
import { bookRoutes } from "../api/routes/books.js";
import type { ClientSignedVenueParts, RouteContext } from "../api/routes/context.js";
import type { RouteLimits } from "../http/json-route.js";
import { mountDashboard, type PageAccount } from "../api/routes/dashboard.js";
import { executionRoute } from "../api/routes/execution.js";
import { historyRoutes } from "../api/routes/history.js";
import { instrumentsRoute } from "../api/routes/instruments.js";
import { positionCloseRoute } from "../api/routes/position-close.js";
import { positionOpenRoute } from "../api/routes/position-open.js";
import { routingDryRunRoute } from "../api/routes/routing-dry-run.js";
import { serviceRoutes } from "../api/routes/service-info.js";
import { streamTicketRoute } from "../api/routes/stream-ticket.js";
import { tradingRoutes } from "../api/routes/trading.js";
import { transferReadRoutes } from "../api/routes/transfer-reads.js";
import { pageFunds } from "../api/page-funds.js";
import { transferRoutes } from "../api/routes/transfers.js";
import { tickerRoutes } from "../api/routes/tickers.js";
import { venueKeyRoutes } from "../api/routes/venue-keys.js";
import { walletRoutes } from "../api/routes/wallets.js";
import { recordingStatus } from "../api/status.js";
import { isLoopback } from "../http/server-address.js";
import type { TlsPaths } from "./tls-files.js";
import type { StoredWallets } from "../stream/stored-blocks.js";
import type { StreamAccounts } from "../stream/account-topics.js";
import { createStreamAuth } from "../stream/auth.js";
import { mountStream } from "../stream/endpoint.js";
import { StreamHub } from "../stream/hub.js";
import { DEFAULT_STREAM_LIMITS, type StreamLimits } from "../stream/limits.js";
import type { StreamCounts } from "../stream/stream-counts.js";
import type { StreamTransfers } from "../stream/transfer-topic.js";
import type { TransferLedger } from "../stream/transfers-feed.js";

export interface ServerOptions extends RouteLimits {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Being on this machine proves an operator (config-access.ts). Default true. */
  readonly trustsLoopback?: boolean;
  /** Null or absent: plain HTTP. */
  readonly tls?: TlsPaths | null;
  readonly rateLimits: BucketRules;
  readonly rateLimitCallersMax: number;
  /** In addition to the addresses that it listens on. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages; `*` allows any, for requests that only read. */
  readonly allowedOrigins: readonly string[];
  readonly targetBytesMax: number;
  readonly closeDefaults: CloseDefaults;
  readonly refusedTickers: ReadonlySet<RoutableVenue>;
  readonly strictFields: boolean;
  readonly version: string;
  /** Settings that differ from the stream's defaults. */
  readonly stream?: Partial<StreamLimits>;
  /** Folder of the built client; default: where the build puts it. */
  readonly dashboardFolder?: string;
  /** Set by the demo only. */
  readonly pageAccount?: PageAccount;
}

export interface ServedMoney extends MoneyFigures {
  readonly desk: TransferDeskPort;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
  /** For the stream. */
  readonly ledger: TransferLedger;
}

export interface ServerParts {
  readonly clock: Clock;
  readonly logger: ServiceLogger;
  readonly view: MarketView;
  readonly desk: TradeDesk;
  readonly metrics: Metrics;
  readonly records: RecordsStore;
  /** Null when nothing is recorded, by choice. */
  readonly recorder: Recorder | null;
  /** The server's key, which signs cursors. */
  readonly hash: KeyedHash;
  /** Who reaches whose rows. */
  readonly owners: Owners;
  /** Absent: the stream serves no positions and orders. Its owner stops it, after the server. */
  readonly portfolio?: Portfolio;
  /** Positions by the blocks of a client-signed venue, for the stream. Its owner stops it, after the server. */
  readonly chain?: ChainPortfolio;
  /** Accounts and single-venue orders; absent: those routes are not served. */
  readonly trading?: TradingDesk;
  /** A venue whose orders its callers sign; absent: it is not configured. Its owner stops it, after the server. */
  readonly clientSigned?: ClientSignedVenueParts;
  /** Server wallets; absent: there is no provider of them, and those routes are not served. */
  readonly walletDesk?: WalletDesk;
  /** Keys of server wallets at venues; absent: there are none. */
  readonly keyDesk?: KeyDeskPort;
  /** Server wallets with their keys, for the stream. */
  readonly storedWallets?: StoredWallets;
  /** Money of server wallets; absent: there are none. */
  readonly money?: ServedMoney;
  readonly keyCounts?: () => ReadonlyMap<RoutableVenue, KeyCounts>;
  /** API keys; absent: there are none, and their headers are not read. */
  readonly auth?: CallerAuth;
}

export interface Server {
  readonly port: number;
  readonly url: string;
  readonly streamCounts: StreamCounts;
  /** Null without TLS. */
  readonly certificate: CertificateView | null;
  /** Takes up the certificate that is in the files now. Rejects with TlsRefusal, and the one before stays. */
  reloadTls(): Promise<{ readonly view: CertificateView; readonly changed: boolean }>;
  /** Stops listening, ends the stream, refuses new closes, waits for those under way at most `graceMs`, closes all connections. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

/** How often a stopping server checks whether the last close has ended. */
const DRAIN_POLL_MS = 5;
/** Two starts of the service have the same stream epoch with a probability of 2^-48. */
const EPOCH_BYTES = 6;
/** The parts that every route and the shutdown share. */
interface ServerCore {
  readonly listener: Listener;
  readonly limiter: RateLimiter;
  readonly origins: OriginGuard;
  readonly edge: Edge;
  readonly bodies: BodyReader;
  readonly stream: StreamHub;
  readonly inFlight: InFlight;
}

export async function startServer(options: ServerOptions, parts: ServerParts): Promise<Server> {
  const core = createCore(options, parts);
  const { listener } = core;
  attachMetrics(core, parts);
  await listener.start();
  const { port } = listener;
  const scheme = listener.certificate === null ? "http" : "https";
  return {
    port,
    url: `${scheme}://${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${port}`,
    streamCounts: core.stream.counts,
    get certificate() {
      return listener.certificate;
    },
    reloadTls: () => listener.reload(parts.clock.wallMs()),
    async stop(graceMs) {
      if (core.edge.closing) return;
      core.edge.closing = true;
      listener.stopListening();
      await drain(core, parts, graceMs);
      parts.metrics.stop();
    },
  };
}

function createCore(options: ServerOptions, parts: ServerParts): ServerCore {
  const { clock, logger, auth } = parts;
  const limiter = new RateLimiter(options.rateLimits, options.rateLimitCallersMax);
  const origins = new OriginGuard(
    { ...options, listenHost: options.host, ownScheme: (options.tls ?? null) === null ? "http" : "https" },
    clock,
  );
  const idPrefix = `${randomBytes(5).toString("hex")}-`;
  const requests = new HiddenCounter(randomFillSync);
  const edge = new Edge({
    clock,
    logger,
    limiter,
    nextRequestId: () => idPrefix + requests.next(),
    origins,
    loopbackOnly: isLoopback(options.host),
    mayBeIpv6: !options.host.startsWith("127."),
    targetBytesMax: options.targetBytesMax,
    ...(auth === undefined ? {} : { authenticator: auth.authenticator }),
    ...(auth?.addressOf === undefined ? {} : { addressOf: auth.addressOf }),
    provenPairsMax: options.rateLimitCallersMax,
  });
  const bodies = new BodyReader(clock, options);
  const listener: Listener = new Listener({ host: options.host, port: options.port, tls: options.tls ?? null }, (app) =>
    mount(app),
  );
  const stream = createStream(listener, edge, options, parts);
  const core = {
    listener,
    limiter,
    origins,
    edge,
    bodies,
    stream,
    inFlight: new InFlight(options.closesInFlightMax, clock),
  };
  const mount = mounting(core, options, parts);
  return core;
}

function createStream(listener: Listener, edge: Edge, options: ServerOptions, parts: ServerParts): StreamHub {
  const { clock, logger, view, portfolio, trading, auth } = parts;
  const { limiter, verifier } = edge;
  return new StreamHub(
    { ...DEFAULT_STREAM_LIMITS, ...options.stream },
    {
      clock,
      logger,
      view,
      publish: (channel, text) => listener.publish(channel, text),
      defer: (run) => void setImmediate(run),
      epoch: randomBytes(EPOCH_BYTES).toString("hex"),
      topicNumbers: new HiddenCounter(randomFillSync),
      refusedTickers: options.refusedTickers,
      ...(auth === undefined
        ? {}
        : {
            auth: createStreamAuth({ verifier, limiter, clock, tickets: auth.tickets }),
            revocations: auth.revocations,
          }),
      ...(portfolio === undefined ? {} : { accounts: accountsOf(portfolio, parts) }),
      ...transfersOf(parts),
      ...(trading === undefined ? {} : { orders: trading.orders }),
    },
  );
}

function accountsOf(portfolio: Portfolio, { chain, hash, trading, storedWallets }: ServerParts): StreamAccounts {
  const orders = trading?.orders;
  return {
    ...{ portfolio, hash },
    ...(chain === undefined ? {} : { chain }),
    ...(storedWallets === undefined ? {} : { wallets: storedWallets }),
    ...(orders === undefined ? {} : { termsOf: (order, account, ownerId) => orders.termsOf(order, account, ownerId) }),
  };
}

function transfersOf({ money, walletDesk, hash, logger }: ServerParts): { readonly transfers?: StreamTransfers } {
  if (money === undefined || walletDesk === undefined) return {};
  return { transfers: { ledger: money.ledger, wallets: walletDesk, hash, explorers: money.desk.explorers, logger } };
}

function attachMetrics({ edge, inFlight, limiter, bodies, stream }: ServerCore, parts: ServerParts): void {
  const { walletDesk } = parts;
  parts.metrics.attach({
    routes: edge.routes,
    rooms: parts.view.rooms,
    inFlight,
    callerCount: () => limiter.callerCount,
    openBodyCount: () => bodies.openCount,
    unknownOrderCount: () => parts.desk.unknownOrders(0, { ownerId: null, payer: null, seesAll: true }).count,
    redactedLogFieldCount: () => parts.logger.redactedCount,
    stream: stream.counts,
    recording: () => recordingStatus(parts.records, parts.recorder),
    store: () => parts.desk.storeStatus(),
    signing: walletDesk === undefined ? null : () => walletDesk.status(),
    venueKeys: parts.keyCounts ?? null,
    money: parts.money ?? null,
    clientSigned: clientSignedFigures(parts),
  });
}

function clientSignedFigures({ clientSigned, chain }: ServerParts) {
  if (clientSigned === undefined) return null;
  return { status: () => clientSigned.room.status(), watchedCount: () => chain?.addressCount ?? 0 };
}

/** The page offers to sign in where keys exist and calls need one. */
function pageFacts({ auth, walletDesk, money }: ServerParts): PageFacts {
  const wantsKey = auth !== undefined && auth.authenticator.mode !== "public";
  const funds = money === undefined ? [] : pageFunds(money.rails);
  return { wantsKey, hasWallets: walletDesk !== undefined, funds };
}

/** Mounts every route on an app; the routes themselves are made once. */
function mounting(core: ServerCore, options: ServerOptions, parts: ServerParts): (app: TemplatedApp) => void {
  const { edge, origins, stream } = core;
  const context = routeContext(core, options, parts);
  const routes = [
    positionCloseRoute(context),
    positionOpenRoute(context),
    routingDryRunRoute(context),
    executionRoute(context),
    ...tradingRoutes(context),
    ...walletRoutes(context),
    ...venueKeyRoutes(context),
    ...transferRoutes(context),
    ...transferReadRoutes(context),
    ...tickerRoutes(context),
    ...bookRoutes(context),
    instrumentsRoute(context),
    ...historyRoutes(context, parts.records, {
      hash: parts.hash,
      owners: parts.owners,
      loopbackOnly: (options.trustsLoopback ?? true) && isLoopback(options.host),
      revocations: parts.auth?.revocations ?? null,
      // No option opens them yet: without API keys the service listens on loopback only.
      open: false,
    }),
    streamTicketRoute(context, parts.auth?.tickets ?? null),
    ...serviceRoutes(context),
  ];
  return (app) => {
    mountStream(app, edge, stream);
    mountDashboard(app, edge, options.dashboardFolder ?? null, options.pageAccount ?? null, pageFacts(parts));
    mountRoutes(app, edge, routes, origins.hasOrigins);
  };
}

function routeContext(core: ServerCore, options: ServerOptions, parts: ServerParts): RouteContext {
  return {
    edge: core.edge,
    clock: parts.clock,
    view: parts.view,
    desk: parts.desk,
    bodies: core.bodies,
    metrics: parts.metrics,
    records: parts.records,
    recorder: parts.recorder,
    stream: core.stream.counts,
    framesPerSecond: core.stream.limits.framesPerSecond,
    limits: options,
    closeDefaults: options.closeDefaults,
    refusedTickers: options.refusedTickers,
    strictFields: options.strictFields,
    version: options.version,
    ...(parts.trading === undefined ? {} : { trading: parts.trading }),
    ...(parts.clientSigned === undefined ? {} : { clientSigned: parts.clientSigned }),
    ...(parts.walletDesk === undefined ? {} : { walletDesk: parts.walletDesk }),
    ...(parts.keyDesk === undefined ? {} : { keyDesk: parts.keyDesk }),
    ...(parts.money === undefined ? {} : { transferDesk: parts.money.desk, rails: parts.money.rails }),
    startedAtMs: parts.clock.wallMs(),
    callerOfAsk,
    inFlight: core.inFlight,
  };
}

/** Ends the stream, waits for closes under way and open bodies, then closes all connections. */
async function drain(
  { listener, bodies, stream, inFlight }: ServerCore,
  { clock, logger }: ServerParts,
  graceMs: number,
): Promise<void> {
  stream.stop();
  const untilNs = clock.monoNs() + graceMs * 1e6;
  // Trades that arrived in this turn are decided at its end (trade-batch.ts): no count includes them yet.
  await new Promise((resolve) => setImmediate(resolve));
  while ((inFlight.count > 0 || bodies.openCount > 0) && clock.monoNs() < untilNs) await delay(clock, DRAIN_POLL_MS);
  if (inFlight.count > 0) logger.warn("server.drain_incomplete", { closes: inFlight.count });
  bodies.stop();
  listener.close();
}
