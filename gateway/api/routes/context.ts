/** What every route is built from. */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { Recorder } from "../../../engine/storage/recorder/recorder.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import type { Operation } from "../../../schemas/operation.js";
import type { TradingDesk } from "../../accounts/trading-desk.js";
import type { CloseDefaults } from "../close-request.js";
import type { BodyReader } from "../../http/body.js";
import type { Asked, Payers } from "../../http/caller-tags.js";
import type { Edge } from "../../http/edge.js";
import type { MarketView } from "../market-view.js";
import type { Metrics } from "../../app/metrics.js";
import type { TradeDesk } from "../ports.js";
import type { StreamCounts } from "../../stream/stream-counts.js";

export interface RouteLimits {
  readonly bodyBytesMax: number;
  readonly bodyDeadlineMs: number;
  readonly closesInFlightMax: number;
  readonly openBodiesMax: number;
}

export interface RouteContext {
  readonly edge: Edge;
  readonly clock: Clock;
  readonly view: MarketView;
  readonly desk: TradeDesk;
  readonly bodies: BodyReader;
  readonly metrics: Metrics;
  readonly records: RecordsStore;
  /** Null: nothing is recorded, by choice. */
  readonly recorder: Recorder | null;
  readonly stream: StreamCounts;
  readonly limits: RouteLimits;
  readonly closeDefaults: CloseDefaults;
  /** 401 on the venuetwo ticker while its keys are missing (interface spec 5.5). */
  readonly venuetwoTickerRefused: boolean;
  /** Unknown body fields are refused where something is sent; else they are ignored and named. */
  readonly strictFields: boolean;
  readonly version: string;
  /** Accounts and single-venue orders; absent: those routes are not served. */
  readonly trading?: TradingDesk;
  readonly startedAtMs: number;
  /** Whose buckets a request with credentials spends; null: its address's. */
  readonly callerOfAsk?: (asked: Asked) => Payers;
  /** Closes whose reply is not known yet; written by the close route, read by shutdown and status. */
  readonly inFlight: { closes: number };
}

/** A handler runs synchronously, may throw, and answers through the edge. */
export interface Route {
  readonly operation: Operation;
  /** It reads credentials, and charges whose they are (PendingReply.charge). */
  readonly byAccount?: boolean;
  handle(response: HttpResponse, request: HttpRequest): void;
}
