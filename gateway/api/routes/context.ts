/** What every route is built from. */
import type { ClientSignedRoom } from "../../../engine/client-signed-room.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { Recorder } from "../../../engine/recorder/recorder.js";
import type { VenueMoney } from "../../../engine/venue-money.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import type { TradingDesk } from "../../accounts/trading-desk.js";
import type { KeyDeskPort } from "../../accounts/key-desk.js";
import type { TransferDeskPort } from "../../accounts/transfer-desk.js";
import type { WalletDesk } from "../../accounts/wallet-desk.js";
import type { CloseDefaults } from "../close-request.js";
import type { JsonRouteParts } from "../../http/json-route.js";
import type { MarketView } from "../market-view.js";
import type { TradeDesk } from "../ports.js";
import type { StreamCounts } from "../../stream/stream-counts.js";

/** What the routes read and count of the metrics (app/metrics.ts). */
export interface RouteMetrics {
  readonly contentType: string;
  observeClose(elapsedNs: number): void;
  eventLoopDelayMs(): { p50: number; p99: number; max: number };
  text(): Promise<string>;
}

/** A venue whose orders its callers sign. */
export interface ClientSignedVenueParts {
  readonly room: ClientSignedRoom;
  /** Of its pair map, by index. */
  readonly symbols: ReadonlyMap<number, string>;
}

export interface RouteContext extends JsonRouteParts {
  readonly view: MarketView;
  readonly desk: TradeDesk;
  readonly metrics: RouteMetrics;
  readonly records: RecordsStore;
  /** Null when nothing is recorded, by choice. */
  readonly recorder: Recorder | null;
  readonly stream: StreamCounts;
  /** Of one connection of the stream. */
  readonly framesPerSecond: number;
  readonly closeDefaults: CloseDefaults;
  /** 401 on the ticker of these while its keys are missing (interface spec 5.5). */
  readonly refusedTickers: ReadonlySet<RoutableVenue>;
  readonly version: string;
  /** Accounts and single-venue orders; absent: those routes are not served. */
  readonly trading?: TradingDesk;
  /** Absent: it is not configured, and its reads say so. */
  readonly clientSigned?: ClientSignedVenueParts;
  /** Server wallets; absent: there is no provider of them, and those routes are not served. */
  readonly walletDesk?: WalletDesk;
  /** Keys of server wallets at venues; absent: there are none, and those routes are not served. */
  readonly keyDesk?: KeyDeskPort;
  /** Money of server wallets; absent: there are none, and those routes are not served. */
  readonly transferDesk?: TransferDeskPort;
  readonly rails?: ReadonlyMap<RoutableVenue, VenueMoney>;
  readonly startedAtMs: number;
}
