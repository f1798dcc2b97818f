/** The metrics of the client-signed venue: its chain, the endpoints that it is read through, its index of events. */
import type { Registry } from "prom-client";
import type { ClientSignedStatus } from "../../engine/client-signed-room.js";
import { addCounter, addGauge, type Samples } from "./metric-forms.js";

export interface ClientSignedFigures {
  status(): ClientSignedStatus;
  /** Addresses that the stream follows. */
  watchedCount(): number;
}

type Endpoint = ClientSignedStatus["endpoints"][number];

/** -1: not known. */
const orUnknown = (value: number | null): number => value ?? -1;

const LEVELS: readonly (readonly [name: string, help: string, read: (status: ClientSignedStatus) => number])[] = [
  [
    "up",
    "1 while its newest block is known and its pairs are those of the map.",
    ({ state }) => Number(state === "LIVE"),
  ],
  ["block", "Newest block that is known; -1: none.", ({ block }) => orUnknown(block)],
  ["block_age_ms", "Since that block was seen first; -1: none was.", ({ blockAgeMs }) => orUnknown(blockAgeMs)],
  [
    "differing_pairs",
    "Pairs whose symbol on the chain is another than here.",
    (status) => status.differingPairs.length,
  ],
  ["index_block", "Last block whose events are stored; -1: none.", ({ index }) => orUnknown(index.cursorBlock)],
  [
    "index_behind",
    "Blocks between that and the last that counts as safe; -1: not known.",
    ({ index }) => orUnknown(index.behindBlocks),
  ],
  ["index_events", "Events that are stored.", ({ index }) => index.eventCount],
];

export function addClientSignedMetrics(registry: Registry, { status, watchedCount }: ClientSignedFigures): void {
  for (const [name, help, read] of LEVELS)
    addGauge(registry, { name: `unwind_venuefive_${name}`, help, labelNames: [], read: () => [[{}, read(status())]] });
  addGauge(registry, {
    name: "unwind_venuefive_watched_addresses",
    help: "Addresses whose positions the stream follows.",
    labelNames: [],
    read: () => [[{}, watchedCount()]],
  });
  addCounter(registry, {
    name: "unwind_venuefive_retracted",
    help: "Stored events that a reorganisation of the chain took back.",
    labelNames: [],
    read: () => [[{}, status().index.retractedCount]],
  });
  const ofEach = (read: (endpoint: Endpoint) => number) => (): Samples =>
    status().endpoints.map((endpoint, index) => [{ place: String(index + 1), host: endpoint.host }, read(endpoint)]);
  const labelNames = ["place", "host"];
  const upHelp = "By place in VENUEFIVE_RPC_URLS and host: 1 while it answers for the right chain and is not behind.";
  const isUp = ofEach(({ state }) => Number(state === "up"));
  addGauge(registry, { name: "unwind_venuefive_endpoint_up", help: upHelp, labelNames, read: isUp });
  const block = ofEach((endpoint) => orUnknown(endpoint.block));
  addGauge(registry, {
    ...{ name: "unwind_venuefive_endpoint_block", help: "Its newest block; -1: none.", labelNames, read: block },
  });
  const calls = ofEach((endpoint) => endpoint.calls);
  addCounter(registry, { name: "unwind_venuefive_calls", help: "JSON-RPC calls to it.", labelNames, read: calls });
  const failures = ofEach((endpoint) => endpoint.failures);
  addCounter(registry, {
    ...{ name: "unwind_venuefive_failures", help: "Those that failed.", labelNames, read: failures },
  });
}
