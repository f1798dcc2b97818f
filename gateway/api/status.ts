/** Rooms → status rows and readiness. */
import { BOOK_LIVE } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { SignerProblem, WalletProviderStatus } from "../../engine/custody/provider/wallet-provider.js";
import type { MarketRoom } from "../../engine/ports.js";
import { scrub } from "../../engine/domain/scrub.js";
import type { Recorder } from "../../engine/recorder/recorder.js";
import type { RecordsStore } from "../../engine/storage/records/records-store.js";
import type { ClientSignedStatus } from "../../engine/client-signed-room.js";
import type {
  ClientSignedStatusRow,
  CustodyStatus,
  ReadyPart,
  RecordingStatus,
  StoreStatusRow,
  VenueStatus,
} from "../../schemas/service.js";
import type { MarketView } from "./market-view.js";
import type { ServedStoreStatus, TradeDesk } from "./ports.js";

const MIB = 1 << 20;
const SHED_TEXT = {
  NOTHING: "",
  TICKS: "; no room for ticks",
  MARKET: "; no room for market data",
} as const satisfies Record<RecordingStatus["shed"], string>;

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
      // Without samples the window returns its default, an assumption, which is not shown as a measurement.
      p50Ms: measured ? latency.p50() : null,
      p90Ms: measured ? latency.p90() : null,
      p99Ms: measured ? latency.p99() : null,
    },
  };
}

export function recordingStatus(records: RecordsStore, recorder: Recorder | null): RecordingStatus {
  const { state, reason, version } = records.state();
  const status = recorder?.status() ?? null;
  return {
    state,
    reason,
    storeVersion: version,
    tables: Object.entries(status?.tables ?? {}).map(
      ([table, { accepted, recovered, stored, droppedTotal, pending, cut }]) => ({
        table,
        accepted,
        recovered,
        stored,
        dropped: droppedTotal,
        pending,
        cut,
      }),
    ),
    spool: { files: status?.spool.files ?? 0, bytes: status?.spool.bytes ?? 0 },
    outbox: status?.outbox ?? { rows: 0, bytes: 0, backlogged: false },
    shed: status?.shed ?? "NOTHING",
    storeBytes: status?.storeBytes ?? null,
  };
}

export function storeStatusRow(status: ServedStoreStatus): StoreStatusRow {
  const { writable, problem, space, freeBytes, reserveBytes, pendingBatchCount, restored = null } = status;
  return {
    ...{ writable, problem, space, freeBytes, reserveBytes, pendingBatches: pendingBatchCount },
    restored: restored === null ? null : { reason: restored.reason, since: restored.sinceMs },
  };
}

export function clientSignedStatus(status: ClientSignedStatus): ClientSignedStatusRow {
  const { cursorBlock, sinceBlock, behindBlocks, eventCount, retractedCount } = status.index;
  return {
    ...{ exchange: status.venue, state: status.state },
    problem: problemText(status.problem),
    ...{ block: status.block, blockAgeMs: status.blockAgeMs === null ? null : Math.round(status.blockAgeMs) },
    differingPairs: status.differingPairs.map((pair) => ({ ...pair })),
    index: {
      ...{ cursorBlock, sinceBlock, behindBlocks, problem: problemText(status.index.problem) },
      ...{ events: eventCount, retracted: retractedCount },
    },
    endpoints: status.endpoints.map(({ host, state, block, calls, failures }) => ({
      ...{ host, state, block, calls, failures },
    })),
  };
}

function problemText(problem: string | null): string | null {
  return problem === null ? null : scrub(problem);
}

/** Never makes the service unready: nothing is sent there, and exits of the others go on. */
export function clientSignedPart(status: ClientSignedStatus): ReadyPart {
  const { venue, state, problem, block, blockAgeMs, index, endpoints } = status;
  const seen = block === null ? "no block known" : `block ${block}, ${Math.round(blockAgeMs ?? 0)} ms old`;
  const { cursorBlock, behindBlocks } = index;
  const behind = behindBlocks === null ? "" : `, ${behindBlocks} behind`;
  const halt = index.problem === null ? "" : ` (${scrub(index.problem)})`;
  const indexed = `${cursorBlock === null ? "no events indexed" : `events to block ${cursorBlock}${behind}`}${halt}`;
  const hosts = endpoints.map(({ host, state: is }) => `${host} ${is}`).join(", ");
  const why = problem === null ? "" : `: ${scrub(problem)}`;
  return { name: venue, ready: true, detail: `${state}${why}, ${seen}, ${indexed}, ${hosts}` };
}

export function custodyStatus({ problem, wallets, frozen, lost, sessions }: WalletProviderStatus): CustodyStatus {
  const { signed, failed, dropped, queued } = sessions;
  return { problem, wallets, frozen, lost, sessions: { signed, failed: { ...failed }, dropped, queued } };
}

const PROBLEM_TEXT: Readonly<Record<SignerProblem, string>> = {
  CONNECTING: "connecting",
  UNREACHABLE: "not reachable",
  PIN: "the two parties do not pin each other's certificates (compare `peerPins` with `unwind custody pin`)",
  VERSION: "it speaks another version of the protocol: both parties are upgraded together",
  SUITE: "it computes by another suite of the protocol",
  SAME_PARTY: "both sides are the same party",
  SAME_KEK: "both parties have one key-encryption key",
  SAME_BACKUP_KEY: "both parties have one backup key",
  STORE: "the store of a party takes no writes",
  TOKEN: "it does not take the token (WALLET_PROVIDER_TOKEN_FILE)",
  CONTRACT: "it does not answer as its contract says",
  STOPPED: "stopped",
};

/** Anybody may ask whether the service is ready: no counts of wallets. */
function cosignerPart({ problem }: WalletProviderStatus): ReadyPart {
  const detail = problem === null ? "reachable" : `${problem}: ${PROBLEM_TEXT[problem]}`;
  return { name: "cosigner", ready: problem === null, detail };
}

/** Text for people. A volume is reported before it is full. */
function storeDetail({ writable, problem, pendingBatchCount, space, freeBytes, restored }: ServedStoreStatus): string {
  const free = freeBytes === null ? "" : `, ${(freeBytes / MIB).toFixed(1)} MiB free`;
  if (!writable) return `not writable: ${problem ?? "unknown"}${free}`;
  const said = { AMPLE: "", TIGHT: "; ticks are not recorded", LOW: "; DISK_LOW: nothing is opened", FULL: "" }[space];
  const back = (restored ?? null) === null ? "" : "; RESTORED_STORE: nothing is opened and no money moves";
  return `${pendingBatchCount} batches pending${said}${said === "" ? "" : free}${back}`;
}

/**
 * Ready to close positions: the store takes writes and every configured venue has a live feed. A record that is off or
 * unreachable does not make the service unready; one whose fills and decisions pile up does. `custody`: null without server
 * wallets; with them the co-signer must be there.
 */
export function readyParts(
  view: MarketView,
  desk: TradeDesk,
  recording: RecordingStatus,
  closing: boolean,
  custody: WalletProviderStatus | null = null,
): ReadyPart[] {
  const parts: ReadyPart[] = [{ name: "process", ready: !closing, detail: closing ? "shutting down" : "running" }];
  const store = desk.storeStatus();
  parts.push({ name: "store", ready: store.writable, detail: storeDetail(store) });
  const waiting = `${recording.outbox.rows} fills, orders and decisions waiting`;
  parts.push({
    name: "recording",
    ready: !recording.outbox.backlogged,
    detail: recording.outbox.backlogged
      ? `RECORDS_BACKLOG: ${waiting}`
      : `${recording.state}${recording.reason === "" ? "" : `, ${recording.reason}`}, ${waiting}${SHED_TEXT[recording.shed]}`,
  });
  if (custody !== null) parts.push(cosignerPart(custody));
  for (const room of view.rooms) {
    let live = 0;
    for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) live++;
    const status = room.status();
    const isFed = status.state !== "DOWN" && status.state !== "STALE";
    const ready = live > 0 && status.breaker !== "open" && isFed;
    parts.push({
      name: room.venue,
      ready,
      detail: `${status.state}, ${live} of ${room.markets.size} books live, breaker ${status.breaker}`,
    });
  }
  return parts;
}
