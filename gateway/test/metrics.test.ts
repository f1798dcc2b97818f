/** What only grows is a counter, what goes up and down is a gauge: rates are made of the one, levels of the other. */
import { afterEach, expect, it } from "vitest";
import type { MarketRoom } from "../../engine/ports.js";
import type { WalletProviderStatus } from "../../engine/custody/provider/wallet-provider.js";
import type { StoreStatus } from "../../engine/storage/state-store.js";
import type { RecordingStatus } from "../../schemas/service.js";
import { Metrics, type MetricSources } from "../app/metrics.js";

const RECORDING = {
  ...{ state: "on", reason: "", storeVersion: "26.7" },
  tables: [{ table: "trades", accepted: 9, recovered: 2, stored: 7, dropped: 1, pending: 3, cut: 4 }],
  ...{ spool: { files: 0, bytes: 0 }, outbox: { rows: 0, bytes: 0, backlogged: false } },
  ...{ shed: "TICKS", storeBytes: 56 },
} as RecordingStatus;

const STORE: StoreStatus = {
  ...{ writable: true, problem: null, pendingBatchCount: 0, commitCount: 1, batchCount: 1 },
  ...{ space: "LOW", freeBytes: 12, reserveBytes: 34 },
};

const SIGNING: WalletProviderStatus = {
  ...{ problem: "UNREACHABLE", wallets: 5, frozen: 1, lost: 2 },
  sessions: {
    ...{ signed: 11, dropped: 3, queued: 4 },
    failed: { transport: 6, refused: 7, violation: 8, cheat: 9, fault: 10 },
  },
};

const ROOM = {
  venue: "venueone",
  markets: new Map(),
  ackLatency: { count: 0 },
  status: () => ({
    ...{ state: "LIVE", breaker: "closed", clockOffsetMs: 0, laneTokens: {} },
    ...{ gapCount: 1, resyncCount: 2, reconnectCount: 3, decodeErrorCount: 4, protocolDriftCount: 5 },
  }),
} as unknown as MarketRoom;

let metrics: Metrics | null = null;
afterEach(() => metrics?.stop());

async function scraped(): Promise<string> {
  metrics = new Metrics();
  metrics.attach({
    ...{ routes: [], rooms: [ROOM], inFlight: { count: 0 } },
    ...{ callerCount: () => 0, openBodyCount: () => 0, unknownOrderCount: () => 0, redactedLogFieldCount: () => 6 },
    stream: {
      ...{ connections: 1, subscriptions: 1, keys: 1, lagging: 0, framesOut: 70, bytesOut: 700 },
      closedByCode: new Map([[1000, 8]]),
    },
    recording: () => RECORDING,
    store: () => STORE,
    signing: () => SIGNING,
    money: {
      counts: () => [{ venue: "venuetwo", kind: "deposit", state: "broadcast", count: 2 }],
      chainStatus: () => [
        {
          chainId: 56,
          endpoints: [
            { place: 1, state: "proven", head: 41, failedCount: 3, malformedCount: 1 },
            { place: 2, state: "otherChain", head: null, failedCount: 0, malformedCount: 0 },
          ],
        },
      ],
      reconciled: () => ({ isRunning: false, last: null, problem: null }),
    },
    clientSigned: null,
    venueKeys: () => new Map([["venueone", { active: 3, expiring: 1, unsettled: 2, retiring: 4, revoking: 5 }]]),
  } as unknown as MetricSources);
  await metrics.text();
  // The second look adds nothing to the first.
  return await metrics.text();
}

it.each([
  ["unwind_log_fields_redacted", "", 6],
  ["unwind_stream_frames_sent", "", 70],
  ["unwind_stream_bytes_sent", "", 700],
  ["unwind_stream_closed", '{code="1000"}', 8],
  ["unwind_record_rows", '{table="trades",fate="accepted"}', 9],
  ["unwind_record_rows", '{table="trades",fate="recovered"}', 2],
  ["unwind_record_rows", '{table="trades",fate="stored"}', 7],
  ["unwind_record_rows", '{table="trades",fate="dropped"}', 1],
  ["unwind_record_figures_cut", '{table="trades"}', 4],
  ["unwind_signatures_total", '{outcome="signed"}', 11],
  ["unwind_signatures_total", '{outcome="transport"}', 6],
  ["unwind_signatures_total", '{outcome="refused"}', 7],
  ["unwind_signatures_total", '{outcome="violation"}', 8],
  ["unwind_signatures_total", '{outcome="cheat"}', 9],
  ["unwind_signatures_total", '{outcome="fault"}', 10],
  ["unwind_signatures_total", '{outcome="dropped"}', 3],
  ["unwind_venue_gaps", '{venue="venueone"}', 1],
  ["unwind_venue_resyncs", '{venue="venueone"}', 2],
  ["unwind_venue_reconnects", '{venue="venueone"}', 3],
  ["unwind_venue_decode_errors", '{venue="venueone"}', 4],
  ["unwind_venue_protocol_drift", '{venue="venueone"}', 5],
])("%s%s is a counter", async (name, labels, value) => {
  const text = await scraped();
  expect(text).toContain(`# TYPE ${name} counter\n`);
  expect(text).toContain(`\n${name}${labels} ${value}\n`);
});

it("rows that wait are a gauge of their own", async () => {
  const text = await scraped();
  expect(text).toContain("# TYPE unwind_record_rows_pending gauge\n");
  expect(text).toContain('\nunwind_record_rows_pending{table="trades"} 3\n');
  expect(text).not.toContain('fate="pending"');
});

it("the store's volume and the kinds of data that are not recorded are gauges", async () => {
  const text = await scraped();
  for (const line of [
    "unwind_store_writable 1",
    "unwind_store_free_bytes 12",
    "unwind_store_reserve_bytes 34",
    "unwind_store_space 2",
    "unwind_record_store_bytes 56",
    "unwind_record_shed 1",
  ])
    expect(text.split("\n")).toContain(line);
});

it("wallets, and whether they can sign, are gauges", async () => {
  const text = await scraped();
  for (const line of [
    "unwind_signer_ready 0",
    "unwind_wallets 5",
    "unwind_wallets_frozen 1",
    "unwind_wallets_lost 2",
    "unwind_signatures_queued 4",
    'unwind_venue_keys{venue="venueone",state="active"} 3',
    'unwind_venue_keys{venue="venueone",state="expiring"} 1',
    'unwind_venue_keys{venue="venueone",state="revoking"} 5',
  ])
    expect(text.split("\n")).toContain(line);
});
