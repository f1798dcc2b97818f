/**
 * The real server, routes, limiter, close service and lmdb store around fake rooms. Time is real here (sockets
 * are), but no test waits for it to pass.
 */
import { Owners } from "../../engine/domain/owner.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, createSystemClock } from "../../engine/domain/clock.js";
import type { Market } from "../../engine/market/market.js";
import type { VenueRoom } from "../../engine/ports.js";
import { Portfolio, type PortfolioOptions } from "../../engine/portfolio/portfolio.js";
import { TradeService } from "../../engine/orders/request/service.js";
import { createOffStore, type RecordsStore } from "../../engine/storage/records/records-store.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { createKeyedHash, cryptoRandomIds } from "../../engine/storage/server-secret.js";
import { createTradeDesk } from "../app/trade-desk.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { ACCOUNT_PACES } from "../../feeds/registry.js";
import type { TradingDesk } from "../accounts/trading-desk.js";
import { KeyBook } from "../../engine/custody/registration/key-book.js";
import { KeyTurns } from "../../engine/custody/registration/key-turns.js";
import { KeyRegistrations } from "../../engine/custody/registration/registrations.js";
import { plainSealer } from "../../engine/custody/provider/test/plain-sealer.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { KeyRegistrar } from "../../engine/key-registrar.js";
import { KeyDesk, type KeyDeskPort } from "../accounts/key-desk.js";
import { KeyedRequests } from "../accounts/keyed-requests.js";
import { WalletDesk, type WalletDeskParts } from "../accounts/wallet-desk.js";
import type { CallerAuth } from "../http/caller.js";
import { createLogger, type ServiceLogger } from "../app/log.js";
import { MarketView } from "../api/market-view.js";
import { Metrics } from "../app/metrics.js";
import type { TradeDesk } from "../api/ports.js";
import type { ClientSignedVenueParts } from "../api/routes/context.js";
import { type ServedMoney, type Server, type ServerOptions, startServer } from "../app/server.js";
import { TestClient } from "./client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

const RULE = { perSecond: 1_000_000, burst: 1_000_000 };

export const DEFAULT_SERVER_OPTIONS: ServerOptions = {
  host: "127.0.0.1",
  port: 0,
  rateLimits: { read: RULE, trade: RULE, exit: RULE, transfer: RULE, anon: RULE },
  rateLimitCallersMax: 100,
  allowedHosts: [],
  allowedOrigins: [],
  targetBytesMax: 4096,
  // The longest there is: a pause of a slow machine must not end a close that a test holds.
  closeDefaults: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, deadlineMs: 30_000 },
  refusedTickers: new Set(),
  strictFields: true,
  version: "0.1.0-test",
  bodyBytesMax: 65_536,
  bodyDeadlineMs: 5000,
  closesInFlightMax: 100,
  openBodiesMax: 100,
};

/** Books proven in time to come are of age 0 until then: no pause of a slow machine makes them old. */
export const PROVEN_AHEAD_NS = 600e9;

export interface Harness {
  readonly clock: Clock;
  readonly server: Server;
  readonly client: TestClient;
  readonly one: FakeRoom;
  readonly two: FakeRoom;
  readonly markets: {
    readonly btcOne: Market;
    readonly btcTwo: Market;
    readonly ethOne: Market;
    readonly pepeTwo: Market;
  };
  readonly service: TradeService;
  readonly portfolio: Portfolio | null;
  /** Every log line written so far. */
  readonly logLines: string[];
  /** Books of both venues again; they do not age for ten minutes. */
  refreshBooks(): void;
  stop(): Promise<void>;
}

export interface HarnessOptions {
  /** Instead of the two of the harness. */
  readonly rooms?: readonly VenueRoom[];
  /** Positions and orders on the stream, over those rooms. */
  readonly withPortfolio?: boolean;
  /** Of its looks; default those of the product. */
  readonly paces?: NonNullable<PortfolioOptions["paces"]>;
  readonly server?: Partial<ServerOptions>;
  readonly wrapDesk?: (desk: TradeDesk) => TradeDesk;
  readonly records?: RecordsStore;
  /** API keys; absent: there are none. */
  readonly auth?: CallerAuth;
  /** Accounts and single-venue orders; absent: those routes are not served. */
  readonly trading?: (parts: TradingParts) => Promise<TradingDesk>;
  /** The client-signed venue; absent: it is not configured. */
  readonly clientSigned?: ClientSignedVenueParts;
  /** Server wallets; absent: those routes are not served. */
  readonly wallets?: Pick<WalletDeskParts, "provider" | "appendAct"> & Partial<WalletDeskParts>;
  /** Of the venues at which keys of these wallets can be registered; absent: those routes are not served. */
  readonly keyDesk?: KeyDeskPort;
  readonly registrars?: ReadonlyMap<RoutableVenue, KeyRegistrar>;
  /** Money of these wallets; absent: those routes are not served. */
  readonly money?: ServedMoney;
}

export interface TradingParts {
  readonly clock: Clock;
  readonly store: StateStore;
  readonly logger: ServiceLogger;
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const clock = createSystemClock();
  const directory = mkdtempSync(join(tmpdir(), "unwind-gateway-"));
  const store = openLmdbStore({ directory, clock });
  const markets = {
    btcOne: fakeMarket(anInstrument()),
    ethOne: fakeMarket(anInstrument({ symbol: "ETH", priceDecimals: 2 })),
    btcTwo: fakeMarket(anInstrument({ venue: "venuetwo", takerFeeMilliBps: 5_000 })),
    pepeTwo: fakeMarket(
      anInstrument({
        venue: "venuetwo",
        symbol: "PEPE",
        nativeSymbol: "1000PEPEUSDT",
        multiplierExp10: 3,
        priceDecimals: 7,
        qtyDecimals: 0,
        takerFeeMilliBps: 5_000,
      }),
    ),
  };
  const one = createFakeRoom("venueone", [markets.btcOne, markets.ethOne], () => clock.wallMs());
  const two = createFakeRoom("venuetwo", [markets.btcTwo, markets.pepeTwo], () => clock.wallMs());
  one.held.set("BTC", 400);
  two.held.set("BTC", 300);

  const logLines: string[] = [];
  const logger = createLogger("debug", { write: (line: string) => void logLines.push(line) });
  const rooms = options.rooms ?? [one, two];
  const hash = createKeyedHash(Buffer.alloc(32, 7));
  const service = new TradeService({
    rooms: new Map(rooms.map((room) => [room.venue, room])),
    store,
    clock,
    logger,
    hash,
    randomIds: cryptoRandomIds,
  });
  await service.start();
  const desk = createTradeDesk(service, store);
  const portfolio =
    options.withPortfolio === true
      ? new Portfolio({
          rooms: new Map(rooms.map((room) => [room.venue, room])),
          clock,
          logger,
          hash,
          paces: { ...ACCOUNT_PACES, ...options.paces },
        })
      : null;
  const trading = await options.trading?.({ clock, store, logger });
  const owners = new Owners();
  const keyed = new KeyedRequests({ owners, store, hash, randomIds: cryptoRandomIds, clock, logger });
  const walletDesk =
    options.wallets === undefined ? undefined : new WalletDesk({ owners, keyed, logger, ...options.wallets });
  const server = await startServer(
    { ...DEFAULT_SERVER_OPTIONS, ...options.server },
    {
      clock,
      logger,
      view: new MarketView(rooms),
      desk: options.wrapDesk?.(desk) ?? desk,
      metrics: new Metrics(),
      records: options.records ?? createOffStore("no record in this test"),
      recorder: null,
      hash,
      owners,
      ...(options.clientSigned === undefined ? {} : { clientSigned: options.clientSigned }),
      ...(walletDesk === undefined ? {} : { walletDesk }),
      ...(options.money === undefined ? {} : { money: options.money }),
      ...(options.keyDesk === undefined ? {} : { keyDesk: options.keyDesk }),
      ...(await venueKeys(options, { store, clock, logger, keyed })),
      ...(trading === undefined ? {} : { trading }),
      ...(options.auth === undefined ? {} : { auth: options.auth }),
      ...(portfolio === null ? {} : { portfolio }),
    },
  );
  const client = new TestClient(server.url);

  function refreshBooks(): void {
    const provenNs = clock.monoNs() + PROVEN_AHEAD_NS;
    loadBook(
      markets.btcOne.book,
      [
        [974_170, 5000],
        [974_160, 9000],
      ],
      [
        [974_180, 4000],
        [974_190, 9000],
      ],
      provenNs,
    );
    loadBook(
      markets.btcTwo.book,
      [
        [974_100, 5000],
        [974_000, 9000],
      ],
      [
        [974_175, 4000],
        [974_290, 9000],
      ],
      provenNs,
      990_817_263,
    );
    loadBook(markets.ethOne.book, [[310_012, 50_000]], [[310_034, 40_000]], provenNs);
    loadBook(markets.pepeTwo.book, [[71_234, 900_000]], [[71_240, 800_000]], provenNs, 7);
    fillTickers(markets, clock);
  }
  refreshBooks();
  return {
    clock,
    server,
    client,
    one,
    two,
    markets,
    service,
    portfolio,
    logLines,
    refreshBooks,
    async stop() {
      one.release();
      two.release();
      await client.stop();
      await server.stop(1000);
      portfolio?.stop();
      await service.drain(1000);
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function fillTickers(markets: Harness["markets"], clock: Clock): void {
  const nowNs = clock.monoNs();
  const { btcOne, btcTwo, pepeTwo } = markets;
  Object.assign(btcOne.ticker, {
    markPrice: "97421.5",
    lastPrice: "97420",
    prevDayPrice: "96000",
    volume24h: "1234567890.12",
    fundingRate: "0.0000125",
    openInterest: "24310.5",
    fundingIntervalHours: 1,
  });
  btcOne.ticker.stamp(1_790_000_000_391, nowNs);
  Object.assign(btcTwo.ticker, {
    markPrice: "97422.1",
    lastPrice: "97421.9",
    prevDayPrice: "96010.0",
    change24h: "1.470",
    change24hAbs: "1411.9",
    volume24h: "987654321.5",
    volumeBase: "10150.4",
    indexPrice: "97425.30",
    openPrice: "96010.0",
    high24h: "98200.0",
    low24h: "95100.0",
    fundingRate: "0.00010000",
    nextFundingTime: 1_790_006_400_000,
    fundingIntervalHours: 8,
  });
  btcTwo.ticker.stamp(1_790_000_000_371, nowNs);
  Object.assign(pepeTwo.ticker, {
    markPrice: "0.0071237",
    lastPrice: "0.0071236",
    prevDayPrice: "0.0070000",
    volume24h: "5000000",
    volumeBase: "700000000",
    fundingRate: "0.0001",
    fundingIntervalHours: 4,
  });
  pepeTwo.ticker.stamp(1_790_000_000_371, nowNs);
}

async function venueKeys(
  { wallets, registrars }: HarnessOptions,
  { store, clock, logger, keyed }: TradingParts & { readonly keyed: KeyedRequests },
): Promise<{ readonly keyDesk?: KeyDesk }> {
  if (wallets === undefined || registrars === undefined) return {};
  const { provider, appendAct } = wallets;
  const book = new KeyBook(store);
  await book.load();
  const sealer = { ...plainSealer, kekId: "plain", rewrap: () => null };
  const parts = { book, sealer, provider, registrars, clock, logger, random: systemSecretRandom };
  const registrations = new KeyRegistrations(parts, new KeyTurns());
  return { keyDesk: new KeyDesk({ registrations, keyed, logger, appendAct }) };
}
