/** Rooms → status rows and readiness. */
import { BOOK_LIVE } from "../engine/market/book.js";
import { ageMs } from "../engine/market/freshness.js";
import type { MarketRoom } from "../engine/ports.js";
import type { ReadyPart, VenueStatus } from "../schemas/service.js";
import type { MarketView } from "./market-view.js";
import type { CloseDesk } from "./ports.js";

export function venueStatus(room: MarketRoom, nowNs: number): VenueStatus {
  const status = room.status();
  let liveBooks = 0;
  let oldest = -1;
  for (const market of room.markets.values()) {
    if (market.book.state !== BOOK_LIVE) continue;
    liveBooks++;
    oldest = Math.max(oldest, ageMs(market.book.tsProvenNs, nowNs));
  }
  const latency = room.ackLatency;
  const measured = latency.count > 0;
  return {
    exchange: room.venue,
    state: status.state,
    markets: room.markets.size,
    liveBooks,
    oldestLiveBookAgeMs: oldest < 0 ? null : oldest,
    breaker: status.breaker,
    breakerOpenUntil: status.breaker === "open" ? Math.max(0, Math.ceil(status.breakerOpenUntilMs)) : null,
    clockOffsetMs: status.clockOffsetMs,
    sockets: status.socketCount,
    reconnects: status.reconnectCount,
    resyncs: status.resyncCount,
    gaps: status.gapCount,
    decodeErrors: status.decodeErrorCount,
    protocolDrift: status.protocolDriftCount,
    laneTokens: { ...status.laneTokens },
    ackLatency: {
      count: latency.count,
      // Without samples the window answers its default, which is an assumption and not shown as a measurement.
      p50Ms: measured ? latency.p50() : null,
      p90Ms: measured ? latency.p90() : null,
      p99Ms: measured ? latency.p99() : null,
    },
  };
}

/** Ready to close positions: the store takes writes and every configured venue has a live feed. */
export function readyParts(view: MarketView, desk: CloseDesk, closing: boolean): ReadyPart[] {
  const parts: ReadyPart[] = [{ name: "process", ready: !closing, detail: closing ? "shutting down" : "running" }];
  const store = desk.storeReady();
  parts.push({ name: "store", ready: store.ready, detail: store.detail });
  for (const room of view.rooms) {
    let live = 0;
    for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) live++;
    const status = room.status();
    const ready = live > 0 && status.breaker !== "open" && status.state !== "DOWN";
    parts.push({
      name: room.venue,
      ready,
      detail: `${status.state}, ${live} of ${room.markets.size} books live, breaker ${status.breaker}`,
    });
  }
  return parts;
}
