/**
 * What one close decision is made of: each stage of a dry run with the real parts, alone in a tight loop, beside what the
 * whole takes through the door and what a bare server takes to read the same request and answer the same bytes.
 *
 * A stage alone is a floor: its code and its data stay in the caches, and its garbage is young. What the whole takes beyond
 * their sum is caches, collection and the turns of the event loop.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { TradeAccounts } from "../../engine/orders/accounts.js";
import { FeeCache } from "../../engine/orders/decide/fee-cache.js";
import { readAccounts, readHeldAccounts } from "../../engine/orders/decide/readings.js";
import type { TradeData, TradeRequest } from "../../engine/orders/types.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { isTradingRoom } from "../../engine/ports.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { buildCloseRequest } from "../../gateway/api/close-request.js";
import { MarketView } from "../../gateway/api/market-view.js";
import { readConfig } from "../../gateway/app/config.js";
import { createService, type Service } from "../../gateway/app/wiring.js";
import { payersOf } from "../../gateway/http/caller-tags.js";
import { encodedText } from "../../gateway/http/encoded-text.js";
import { parseJsonBody } from "../../gateway/http/json-body.js";
import { fieldCheck } from "../../gateway/http/unknown-fields.js";
import { closeReplySchema, closeRequestSchema } from "../../schemas/close.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { compileValidator } from "../../schemas/validate.js";
import { startChild } from "../lib/child.js";
import { type LoadTool, loadTool } from "../lib/http-load.js";
import { median, percentile } from "../lib/stats.js";
import { startSystem, systemEnvironment } from "../lib/system.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import { answerOf, bareServer, DRY_RUN_BODY, heatAccount } from "./http.js";

const CONNECTIONS = 64;
/** One loop holds the event loop, and so the feeds, for about as long. */
const LOOP_MS = 40;
const PAUSE_MS = 20;
/** Calls before the measured ones: after so many the compiler has optimised every branch that a stage takes. */
const WARM_CALLS = 50_000;
const FEES_WITHIN_MS = 2_000;
/** Loops of a stage that meet a stream which has to prove itself first; each is run again. */
const MAX_STALE = 50;

interface Stage {
  readonly name: string;
  run(): unknown;
}

export const stages: Scenario = {
  name: "stages",
  title: "A close decision, stage by stage",
  async run(context) {
    const whole = await measureWhole(context, loadTool());
    const alone = await measureAlone(context);
    const sumUs = alone.filter(({ isPart }) => isPart).reduce((sum, { row }) => sum + row.ours, 0);
    const sum = figure("all stages alone, the socket's included", sumUs + whole.bareUs, whole.runCount, "");
    return { rows: [...alone.map(({ row }) => row), ...whole.rows, sum], profile: [] };
  },
};

function figure(what: string, us: number, runCount: number, detail: string): BenchRow {
  return { what, unit: "µs", ours: us, peerName: "", peer: null, ratio: us, goal: null, runCount, detail };
}

/** By rates at full load, one side after the other. */
async function measureWhole(context: ScenarioContext, tool: LoadTool) {
  const system = await startSystem();
  const runCount = context.smoke ? 1 : 5;
  const ours: number[] = [];
  const bareOnes: number[] = [];
  try {
    await heatAccount(system.url);
    const url = `${system.url}/api/trade/position/close`;
    const bare = await bareServer(await answerOf(url, DRY_RUN_BODY));
    const usOf = async (target: string): Promise<number> => {
      const load = { url: target, connections: CONNECTIONS, seconds: context.smoke ? 1 : 3, body: DRY_RUN_BODY };
      return 1e6 / (await tool.run(load)).requestsPerSecond;
    };
    try {
      for (let run = context.smoke ? 0 : -1; run < runCount; run++) {
        const [ourUs, bareUs] = [await usOf(url), await usOf(`http://127.0.0.1:${bare.firstLine}/x`)];
        if (run < 0) continue;
        ours.push(ourUs);
        bareOnes.push(bareUs);
      }
    } finally {
      await bare.stop();
    }
  } finally {
    await system.stop();
  }
  const bareUs = median(bareOnes);
  return {
    bareUs,
    runCount,
    rows: [
      figure(`socket: request in, same bytes out (bare server, ${tool.name})`, bareUs, runCount, spread(bareOnes)),
      figure(`the whole, through the door (${tool.name})`, median(ours), runCount, spread(ours)),
    ],
  };
}

async function measureAlone(context: ScenarioContext): Promise<{ readonly row: BenchRow; readonly isPart: boolean }[]> {
  const venues = await startChild("sim/venues.child.js", { SIM_SEED: "11", SIM_UNLIMITED: "1", SIM_BTC_SIZE: "5000" });
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-bench-")), "data");
  const config = readConfig(systemEnvironment(JSON.parse(venues.firstLine), dataDir), () => null);
  if (!config.ok) throw new Error(config.problems.join("; "));
  const service = await createService(config.config);
  try {
    await heatAccount(service.url);
    const { parts, within } = await stagesOf(service, config.config);
    const rows: { readonly row: BenchRow; readonly isPart: boolean }[] = [];
    for (const [list, isPart] of [
      [parts, true],
      [within, false],
    ] as const)
      for (const stage of list) rows.push({ row: await stageRow(context, stage), isPart });
    return rows;
  } finally {
    await service.stop();
    await venues.stop();
    rmSync(dirname(dataDir), { recursive: true, force: true });
  }
}

/** `parts` together are a decision; `within` are parts of one of them. */
async function stagesOf(service: Service, config: Parameters<typeof createService>[0]) {
  const clock = createSystemClock();
  const hash = createKeyedHash(Buffer.alloc(32, 1));
  const view = new MarketView(service.rooms);
  const rooms = new Map(service.rooms.filter(isTradingRoom).map((room) => [room.venue, room]));
  const feeCache = new FeeCache(clock);
  const validate = compileValidator(closeRequestSchema);
  const checkFields = fieldCheck(OPERATIONS.positionClose, config.strictFields);
  const serialise = compileSerialiser(closeReplySchema, ["data.routing", "data.quote"]);
  const bytes = Buffer.from(DRY_RUN_BODY);
  const body = parsedBody(bytes);
  const request = (): TradeRequest => buildCloseRequest(body, validate, view, config.closeDefaults);
  const asked = request();
  const decide = (): TradeData => decided(service, asked);
  const data = decide();
  const text = serialise({ success: true, data, timestamp: 0 });
  const parts: Stage[] = [
    { name: "body to JSON, its shape checked", run: () => parseJsonBody(bytes) },
    { name: "fields that are unknown", run: () => checkFields(body) },
    { name: "schema, rules, symbol", run: request },
    { name: "whose buckets pay", run: () => payersOf(asked.credentials) },
    { name: "decision: sessions, positions, route, report, quote", run: decide },
    { name: "reply to text", run: () => serialise({ success: true, data, timestamp: 0 }) },
    { name: "text to bytes", run: () => encodedText(text) },
  ];
  const openAccounts = (): TradeAccounts => new TradeAccounts(rooms, asked, hash, null, null);
  const accounts = openAccounts().all();
  // Fees are read once; a decision at once has them.
  await readAccounts(clock, accounts, asked, feeCache, FEES_WITHIN_MS);
  const within: Stage[] = [
    { name: "within the decision: sessions", run: () => openAccounts().closeAll() },
    { name: "within the decision: streamed positions", run: () => readHeldAccounts(accounts, asked, feeCache) },
  ];
  return { parts, within };
}

function parsedBody(bytes: Buffer): unknown {
  const parsed = parseJsonBody(bytes);
  if (!parsed.ok) throw new Error("the body is not JSON");
  return parsed.value;
}

/** Read after the loops: the compiler may leave out a stage whose result nobody reads. */
let lastResult: unknown = null;

/** The feeds have not had their turn: the decision would have to ask a venue. */
class StreamStale extends Error {}

/** Throws where anything had to be waited for, or was refused: then the stage measures something else. */
function decided(service: Service, request: TradeRequest): TradeData {
  const context = {
    requestId: "bench",
    idempotencyKey: null,
    ownerId: null,
    rawBody: new Uint8Array(),
    receivedAtMs: Date.now(),
    payer: null,
  };
  const result = service.closeService.tradeAtOnce(request, context);
  if (result === null) throw new StreamStale();
  if (!result.ok) throw new Error(`no decision: ${result.code}`);
  return result.data;
}

/** µs a call: the median over loops that each run for LOOP_MS, with the feeds' turn between them. */
async function stageRow(context: ScenarioContext, stage: Stage): Promise<BenchRow> {
  const loopCount = context.smoke ? 3 : 25;
  const warmCalls = context.smoke ? 1_000 : WARM_CALLS;
  const perCall: number[] = [];
  let staleCount = 0;
  for (let callCount = 0; perCall.length < loopCount; ) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS << Math.min(staleCount, 4)));
    const loop = runLoop(stage);
    if (loop === null) {
      if (++staleCount > MAX_STALE) throw new StreamStale(stage.name);
      continue;
    }
    staleCount = 0;
    if (callCount >= warmCalls) perCall.push((loop.elapsedMs * 1e3) / loop.calls);
    callCount += loop.calls;
  }
  if (lastResult === null) throw new Error(`${stage.name} returned nothing`);
  return figure(stage.name, median(perCall), loopCount, spread(perCall));
}

/** Returns null where the feeds have not had their turn. */
function runLoop(stage: Stage): { readonly calls: number; readonly elapsedMs: number } | null {
  const startMs = performance.now();
  try {
    for (let calls = 16; ; calls += 16) {
      for (let call = 0; call < 16; call++) lastResult = stage.run();
      const elapsedMs = performance.now() - startMs;
      if (elapsedMs >= LOOP_MS) return { calls, elapsedMs };
    }
  } catch (error) {
    if (error instanceof StreamStale) return null;
    throw error;
  }
}

function spread(us: readonly number[]): string {
  return `µs p10/p90 ${percentile(us, 10).toFixed(2)}/${percentile(us, 90).toFixed(2)}`;
}
