/**
 * Builds the service: store, secret, rooms, trade and order services, portfolio, HTTP server; and stops it in the order
 * that loses nothing. `overrides` can replace everything that reaches the outside.
 *
 * Invariant: after `stop` resolves no socket, timer or file of the service is open.
 */
import { type Clock, createSystemClock } from "../../engine/domain/clock.js";
import { type Random, systemRandom } from "../../engine/domain/random.js";
import type { CredentialSource } from "../../engine/custody/credential-source.js";
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";
import { GuardBook } from "../../engine/guards/guard-book.js";
import { createNonceReservations } from "../../engine/orders/durable/nonce-reservations.js";
import type { RecordSink } from "../../engine/orders/conclude/record-sink.js";
import { SingleOrderService } from "../../engine/orders/single/single-order-service.js";
import { ClientOrderIdIndex } from "../../engine/orders/durable/client-order-id-index.js";
import { OrderListeners } from "../../engine/orders/follow/order-listeners.js";
import { TradeService } from "../../engine/orders/request/service.js";
import { isTradingRoom, type MarketRoom } from "../../engine/ports.js";
import { Portfolio } from "../../engine/portfolio/portfolio.js";
import { resolvedTrades } from "../../engine/portfolio/resolved-executions.js";
import { Instance } from "../../engine/storage/instance/instance.js";
import { countFileAt } from "../../engine/storage/instance/instance-file.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { createKeyedHash, cryptoRandomIds, loadServerSecret } from "../../engine/storage/server-secret.js";
import { Owners } from "../../engine/domain/owner.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { ACCOUNT_PACES } from "../../feeds/registry.js";
import { MemoryCredentials } from "../accounts/memory-credentials.js";
import { joinedWallets } from "../accounts/provider-wallets.js";
import { createTradingDesk, type RecordAct } from "../accounts/trading-desk.js";
import { openAdminSocket, tlsReload } from "./admin-socket.js";
import { type Administration, openAdministration, type OpenAdministration } from "./administration.js";
import { openAuthentication } from "./authentication.js";
import { appendOrLog } from "./audit-rows.js";
import { type ServedClientSigned, startClientSigned } from "./client-signed.js";
import { createClientSigned } from "./client-signed-room.js";
import type { Config } from "./config.js";
import { createLogger, type ServiceLogger } from "./log.js";
import { MarketView } from "../api/market-view.js";
import { Metrics } from "./metrics.js";
import { reconcileAdmin } from "./reconcile-admin.js";
import { createRecording, type Recording } from "./recording.js";
import { RoomStarter, waitForBooks } from "./room-starter.js";
import { createRooms } from "./rooms.js";
import type { ClientSignedVenueParts } from "../api/routes/context.js";
import type { PageAccount } from "../api/routes/dashboard.js";
import type { CallerAuth } from "../http/caller.js";
import { type Server, startServer } from "./server.js";
import { isLoopback } from "../http/server-address.js";
import { allResolved, resolvedOrders } from "../stream/resolved-orders.js";
import { createTradeDesk } from "./trade-desk.js";
import { VERSION } from "./version.js";
import { type CustodyElsewhere, startWallets, walletDesks, type Wallets } from "./wallets.js";

/** Time the services may need after the last HTTP reply: a last look-up of unknown orders, and writes. */
const DRAIN_EXTRA_MS = 5_000;
/** For administrative acts under way at the stop. */
const ADMIN_GRACE_MS = 5_000;

export interface ServiceOverrides {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: ServiceLogger;
  /** Used instead of the configured venues. */
  readonly rooms?: readonly MarketRoom[];
  /** The client-signed venue, instead of the configured one. */
  readonly clientSigned?: ClientSignedVenueParts;
  readonly version?: string;
  /** Folder of the built client; default: where the build puts it. */
  readonly dashboardFolder?: string;
  /** The account that the page opens with; set by the demo only. */
  readonly pageAccount?: PageAccount;
  /** Server wallets and their credentials; absent: there are none. */
  readonly wallets?: CredentialSource;
  /** Makes wallets and signs for them; absent: the service has no wallet routes. Its owner stops it, after the service. */
  readonly walletProvider?: WalletProvider;
  /** Both parties' keys and rows apart from the service's own, instead of those of the configuration: the demo. */
  readonly throwawayCustody?: CustodyElsewhere;
  /** API keys, instead of those of the configuration and the store. */
  readonly auth?: CallerAuth;
  /** Receives what orders did, instead of the record. */
  readonly records?: RecordSink;
  /** Keys, audit rows and seals over the store. */
  readonly openAdministration?: OpenAdministration;
  /** A commit failed: the process must be restarted. */
  readonly onStoreFailure?: () => void;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly rooms: readonly MarketRoom[];
  readonly closeService: TradeService;
  readonly store: StateStore;
  readonly recording: Recording;
  readonly logger: ServiceLogger;
  /** Takes up the certificate that is in the files now; null without TLS. Its promise rejects with AdminRefusal. */
  readonly reloadTls: (() => Promise<unknown>) | null;
  /** Stops gracefully: listening, closes under way, rooms, store. Idempotent. */
  stop(): Promise<void>;
}

/** What every step of the start uses. */
interface Builder {
  readonly config: Config;
  readonly overrides: ServiceOverrides;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ServiceLogger;
  /** Ends what has been opened so far, in the order of opening. */
  readonly undo: (() => Promise<void>)[];
}

/** What the services rest on: the store and the hash by its secret, the record, the venues. */
interface Foundation {
  readonly store: StateStore;
  /** Whether the store is a restored backup. */
  readonly instance: Instance;
  readonly hash: KeyedHash;
  /** Who reaches whose rows. */
  readonly owners: Owners;
  readonly recording: Recording;
  readonly rooms: readonly MarketRoom[];
  readonly administration: Administration;
}

interface OrderServices {
  readonly trades: TradeService;
  readonly orders: SingleOrderService;
  readonly guards: GuardBook;
}

/** Rejects with StartError, or STORE_UNAVAILABLE; everything that was opened is closed again. */
export async function createService(config: Config, overrides: ServiceOverrides = {}): Promise<Service> {
  const logger = overrides.logger ?? createLogger(config.logLevel);
  const clock = overrides.clock ?? createSystemClock();
  const random = overrides.random ?? systemRandom;
  const builder: Builder = { config, overrides, clock, random, logger, undo: [] };
  try {
    const foundation = await startFoundation(builder);
    const services = await startOrderServices(builder, foundation);
    const portfolio = createPortfolio(builder, foundation, services);
    const { store, recording, rooms } = foundation;
    const wallets = await startWallets({ ...builder, ...foundation });
    const [clientSigned] = await Promise.all([
      startClientSigned(overrides.clientSigned ?? createClientSigned(config.clientSigned, builder, store), builder),
      waitForBooks(rooms, clock),
    ]);
    const server = await listen(builder, foundation, services, { portfolio, ...clientSigned }, wallets);
    await openAdministrationSocket(builder, foundation, server, wallets);
    const stop = once(() => unwind(builder.undo, logger));
    const reloadTls = config.tls === null ? null : () => tlsReload(server, logger).reload();
    const { url, port } = server;
    return { url, port, rooms, closeService: services.trades, store, recording, logger, reloadTls, stop };
  } catch (error) {
    await unwind(builder.undo, logger);
    throw error;
  }
}

async function startFoundation(builder: Builder): Promise<Foundation> {
  const store = openStore(builder);
  const instance = await openInstance(builder, store);
  const administration = await startAdministration(builder, store);
  const hash = createKeyedHash(await loadServerSecret(store, builder.config.serverSecret));
  const owners = new Owners(administration.localRows);
  const recording = await startRecording(builder, store, hash);
  const rooms = await startRooms(builder, store);
  recording.watch(rooms);
  return { store, instance, hash, owners, recording, rooms, administration };
}

async function startAdministration({ config, overrides, clock, logger, undo }: Builder, store: StateStore) {
  const administration = await (overrides.openAdministration ?? openAdministration)({
    store,
    access: config,
    clock,
    logger,
  });
  undo.push(() => administration.close());
  return administration;
}

/** Last: whoever gets an answer there finds a service that runs. */
async function openAdministrationSocket(
  { config, overrides, clock, logger, undo }: Builder,
  foundation: Foundation,
  server: Server,
  { custody, money }: Wallets,
): Promise<void> {
  const { administration } = foundation;
  const reconcile = await reconcileAdmin({ ...foundation, clock, logger }, money?.reconciliation ?? null);
  undo.push(() => reconcile.stop());
  const version = overrides.version ?? VERSION;
  const wallets = custody?.admin ?? null;
  const admin = await openAdminSocket({ config, version, clock, logger, administration, server, wallets, reconcile });
  undo.push(() => admin.stop(ADMIN_GRACE_MS));
}

function openStore({ config, overrides, clock, logger, undo }: Builder): StateStore {
  const store = openLmdbStore({
    directory: config.dataDir,
    clock,
    onFailure: () => {
      logger.error("store.commit_failed");
      overrides.onStoreFailure?.();
    },
  });
  undo.push(() => store.close());
  return store;
}

/** Stopped before the store closes. */
async function openInstance({ config, clock, logger, undo }: Builder, store: StateStore): Promise<Instance> {
  const file = countFileAt(config.instanceFile);
  const newId = () => cryptoRandomIds.randomHex128();
  const instance = await Instance.open({ store, file, clock, newId, logger });
  undo.push(() => instance.stop());
  return instance;
}

async function startRecording(builder: Builder, store: StateStore, hash: KeyedHash): Promise<Recording> {
  const { config, clock, random, logger, undo } = builder;
  const recording = createRecording({
    config: config.recording,
    dataDir: config.dataDir,
    stateStore: store,
    hash,
    randomIds: cryptoRandomIds,
    clock,
    random,
    logger,
  });
  undo.push(() => recording.stop());
  await recording.start();
  return recording;
}

async function startRooms(builder: Builder, store: StateStore): Promise<readonly MarketRoom[]> {
  const { config, overrides, clock, random, logger, undo } = builder;
  const rooms = overrides.rooms ?? createRooms(config, clock, random, logger, createNonceReservations(store));
  const starter = new RoomStarter(rooms, clock, logger);
  undo.push(async () => {
    starter.stop();
    await Promise.allSettled(rooms.map((room) => room.stop()));
  });
  await starter.start();
  return rooms;
}

/** Trades first: each service adopts the intents that an earlier start left it. */
async function startOrderServices(
  { config, overrides, clock, logger, undo }: Builder,
  { store, instance, hash, owners, rooms, recording }: Foundation,
): Promise<OrderServices> {
  const restored = () => instance.restored;
  const guards = new GuardBook({ store, clock, logger, policy: config.guards, restored });
  await guards.start();
  const common = {
    ...{ store, hash, owners, guards, clock, logger, randomIds: cryptoRandomIds },
    rooms: tradingRooms(rooms),
    listeners: new OrderListeners({ clock, logger }),
    names: new ClientOrderIdIndex(store, hash, clock),
    records: overrides.records ?? recording.closes,
    maxInFlight: config.closesInFlightMax,
  };
  const trades = new TradeService({
    ...common,
    marketRooms: new Map(rooms.map((room) => [room.venue, room])),
    maxRecent: config.executionsInMemoryMax,
    observer: recording.observer,
    routing: routingSettings(config, rooms),
  });
  undo.push(() => trades.drain(DRAIN_EXTRA_MS));
  await trades.start();
  const orders = new SingleOrderService(common);
  undo.push(() => orders.drain(DRAIN_EXTRA_MS));
  // Before its switches fire: what a trade sends after them nobody would cancel.
  undo.push(() => trades.endSending(DRAIN_EXTRA_MS));
  await orders.start();
  return { trades, orders, guards };
}

function tradingRooms(rooms: readonly MarketRoom[]) {
  return new Map(rooms.filter(isTradingRoom).map((room) => [room.venue, room]));
}

function routingSettings(config: Config, rooms: readonly MarketRoom[]) {
  return {
    latencyFactor: config.latencyFactor,
    quoteRatePpm: config.quoteRatePpm,
    takerDelayMs: Object.fromEntries(rooms.map(({ takerDelayMs = 0, venue }) => [venue, takerDelayMs])),
    configuredFees: new Set(config.venues.filter(({ fees }) => fees !== null).map(({ venue }) => venue)),
  };
}

function createPortfolio(
  { clock, logger, undo }: Builder,
  { hash, owners, rooms }: Foundation,
  { trades, orders }: OrderServices,
): Portfolio {
  const resolved = allResolved([resolvedTrades(trades), resolvedOrders(orders)]);
  const venues = tradingRooms(rooms);
  const portfolio = new Portfolio({ rooms: venues, clock, logger, hash, owners, resolved, paces: ACCOUNT_PACES });
  undo.push(async () => portfolio.stop());
  return portfolio;
}

async function listen(
  builder: Builder,
  foundation: Foundation,
  { trades, orders, guards }: OrderServices,
  watched: ServedClientSigned & { readonly portfolio: Portfolio },
  served: Wallets,
): Promise<Server> {
  const { config, overrides, clock, logger, undo } = builder;
  const { store, instance, hash, owners, rooms, recording, administration } = foundation;
  const { provider, keys } = served;
  const auth = await openAuthentication({ store, access: config, administration, clock, logger });
  undo.push(() => auth.stop());
  const version = overrides.version ?? VERSION;
  const operator = { loopbackOnly: config.trustsLoopback && isLoopback(config.host), open: false };
  const wallets = joinedWallets(
    overrides.wallets ?? new MemoryCredentials(),
    provider,
    keys?.registrations.blocks ?? null,
  );
  const recordAct = recordActs(administration, logger);
  const server = await startServer(
    {
      ...config,
      version,
      ...(overrides.dashboardFolder === undefined ? {} : { dashboardFolder: overrides.dashboardFolder }),
      ...(overrides.pageAccount === undefined ? {} : { pageAccount: overrides.pageAccount }),
    },
    {
      ...{ clock, logger, hash, owners, ...watched, auth: overrides.auth ?? auth },
      view: new MarketView(rooms),
      desk: createTradeDesk(trades, store, orders, instance),
      metrics: new Metrics(),
      records: recording.store,
      recorder: recording.recorder,
      trading: createTradingDesk({ clock, wallets, owners, orders, killSwitch: guards, operator, recordAct, instance }),
      ...(provider === null ? {} : walletDesks({ ...builder, ...foundation }, provider, served)),
    },
  );
  undo.push(() => server.stop(config.shutdownGraceMs));
  logger.info("service.listening", { host: config.host, port: server.port, version, profile: config.profile });
  return server;
}

function recordActs({ audit }: Administration, logger: ServiceLogger): RecordAct {
  return (act) => appendOrLog(audit, logger, act);
}

/** Closes in reverse order of opening; a part that fails to close does not keep the others open. */
async function unwind(undo: (() => Promise<void>)[], logger: ServiceLogger): Promise<void> {
  for (const close of undo.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      logger.error("service.stop_failed", { errorName: error instanceof Error ? error.name : "unknown" });
    }
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= run();
    return running;
  };
}
