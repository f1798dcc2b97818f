/**
 * The local venueone: the protocol of this room over the shared exchange, on one loopback port for REST, WebSocket and
 * the control API. `startVenueoneSim` is the way in.
 */
import { createSystemClock, type TimerHandle } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createControl } from "../core/control.js";
import { createExchange } from "../core/exchange.js";
import { createFactorModel, seedOf } from "../core/factor-model.js";
import { changeListing, type ListingChange } from "../core/listing-change.js";
import { createFaultInjector } from "../core/faults.js";
import { createRequestLog, type SimRequestLog } from "../core/request-log.js";
import { startShell } from "../core/shell.js";
import type { FaultInjector } from "../core/fault-types.js";
import type { SimControlHooks, SimHttpReply, SimHttpRequest, SimProtocol, SimShell } from "../core/server-types.js";
import type { SimExchange, SimPolicies } from "../core/types.js";
import { parseWireDecimalE8 } from "./decimals.js";
import { createExchangeApi, fireScheduledCancels } from "./exchange-api.js";
import { createJournal } from "./journal.js";
import { readJson } from "./json.js";
import { keepAccounts } from "./keeper.js";
import { createPublisher } from "./market-rows.js";
import {
  resolveCadences,
  VENUE_LIMITS,
  type VenueoneAccountOptions,
  type VenueoneAgentOptions,
  type VenueoneSimOptions,
} from "./options.js";
import { createRequestHandler, type RequestHandler } from "./requests.js";
import { createSessions, type Sessions } from "./sockets.js";
import { TEXT_BAD_CONTENT_TYPE, TEXT_BAD_JSON } from "./texts.js";
import { createTpsl } from "./tpsl.js";
import { createUniverse } from "./universe.js";
import { createVenue, type Venue } from "./venue.js";

const POLICIES: SimPolicies = {
  reduceOnlyExcess: "clamp",
  postOnlyCross: "reject",
  iocNoMatch: "reject",
  selfTrade: "cancelResting",
  triggerAlreadyMet: "reject",
  // Whether a cloid may be used again while its first order is open is not documented; refusing is the careful reading.
  clientIdReuse: "whenClosed",
  takerFeeMilliBps: 4_500,
  makerFeeMilliBps: 1_500,
  defaultLeverage: 20,
};

/** Order ids of the venue no longer fit 32 bits. */
const FIRST_ORDER_ID = 211_341_310_459;
const ADDRESS = /^0x[0-9a-f]{40}$/;
const CORS = { "access-control-allow-origin": "*" };
/** Dead man's switches are looked at this often. */
const SCHEDULE_CHECK_MS = 500;

export interface VenueoneSim {
  /** Base of `/info` and `/exchange`, no trailing slash. */
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly exchange: SimExchange;
  readonly venue: Venue;
  readonly faults: FaultInjector;
  /** Every instruction whose signature was accepted, with its outcome. */
  readonly log: SimRequestLog;
  readonly shell: SimShell;
  addAccount(account: VenueoneAccountOptions): void;
  /** Changes what the venue lists, while it runs. */
  changeListing(symbol: string, change: ListingChange): Promise<void>;
  stop(): Promise<void>;
}

export async function startVenueoneSim(options: VenueoneSimOptions): Promise<VenueoneSim> {
  const clock = options.clock ?? createSystemClock();
  const isMainnet = options.isMainnet ?? true;
  const universe = createUniverse(isMainnet, options.symbols ?? null);
  const exchange = createExchange({
    venue: "venueone",
    seed: options.seed,
    clock,
    instruments: universe.instruments,
    policies: POLICIES,
    priceSource: options.priceSource ?? createFactorModel({ seed: options.seed, startMs: clock.wallMs() }),
    ...(options.flow === undefined ? {} : { flow: options.flow }),
    firstOrderId: FIRST_ORDER_ID,
  });
  const log = createRequestLog(exchange);
  const venue = createVenue({
    exchange,
    universe,
    isMainnet,
    random: createSeededRandom(seedOf("venueone/room", options.seed)),
    limits: { ...VENUE_LIMITS, ...options.limits },
    cadences: resolveCadences(options),
    log,
  });
  const journal = createJournal(exchange);
  const tpsl = createTpsl(venue);
  journal.addFollower((changes) => tpsl.follow(changes));
  keepAccounts(venue, journal);
  const context = { venue, publisher: createPublisher(exchange), tpsl };
  const handler = createRequestHandler(context, createExchangeApi({ venue, tpsl, journal }));
  const sessions = createSessions(context, journal, handler);
  const faults = createFaultInjector({
    seed: options.seed,
    clock,
    onChange: () => exchange.setClockSkewMs(faults.clockSkewMs()),
  });
  for (const fault of options.faults ?? []) faults.add(fault);
  const hooks = controlHooks(venue, sessions);
  const shell = await startShell({
    clock,
    port: options.port ?? 0,
    faults,
    protocol: createProtocol(handler, sessions),
    control: createControl({ exchange, faults, log, hooks }),
  });
  const addAccount = (account: VenueoneAccountOptions): void => openAccount(venue, account);
  for (const account of options.accounts ?? []) addAccount(account);
  exchange.start();
  let scheduleTimer: TimerHandle;
  const checkSchedules = (): void => {
    fireScheduledCancels(venue);
    journal.commit();
    scheduleTimer = clock.setTimer(checkSchedules, SCHEDULE_CHECK_MS);
  };
  scheduleTimer = clock.setTimer(checkSchedules, SCHEDULE_CHECK_MS);
  return {
    restUrl: `http://127.0.0.1:${shell.port}`,
    wsUrl: `ws://127.0.0.1:${shell.port}/ws`,
    port: shell.port,
    exchange,
    venue,
    faults,
    log,
    shell,
    addAccount,
    changeListing: (symbol, change) => changeListing(exchange, symbol, change, () => universe.change(symbol, change)),
    async stop() {
      clock.clearTimer(scheduleTimer);
      exchange.stop();
      faults.clear();
      await shell.stop();
      sessions.stop();
    },
  };
}

/* ------------------------------------------------------------------ protocol */

function createProtocol(handler: RequestHandler, sessions: Sessions): SimProtocol {
  return {
    handleHttp: (request) => answerHttp(handler, request),
    faultReply(kind, verdict) {
      const retryAfter: Record<string, string> =
        verdict.retryAfterS < 0 ? {} : { "retry-after": String(verdict.retryAfterS) };
      const headers = { ...CORS, ...retryAfter };
      if (kind === "rate429") return { status: 429, body: "null", contentType: "application/json", headers };
      if (kind === "ban418") return { status: 418, body: "null", contentType: "application/json", headers };
      // What the proxy in front of the venue answers when the venue does not.
      const body = `<html><body><h1>${verdict.status}</h1></body></html>`;
      return { status: verdict.status, body, contentType: "text/html", headers };
    },
    acceptSocket: (path) => (path === "/ws" ? null : 404),
    onSocketOpen: (socket) => sessions.open(socket),
    onSocketMessage: (socket, text) => sessions.message(socket, text),
    onSocketClose: (socket) => sessions.close(socket),
  };
}

function answerHttp(handler: RequestHandler, request: SimHttpRequest): SimHttpReply {
  const isInfo = request.path === "/info";
  if (request.method === "OPTIONS") {
    const allow = { "access-control-allow-methods": "POST", "access-control-allow-headers": "content-type" };
    return { status: 200, body: "", headers: { ...CORS, ...allow } };
  }
  if (!isInfo && request.path !== "/exchange") return plain(404, "");
  if (request.method !== "POST") return plain(405, "");
  if (!isJson(request.headers["content-type"])) return plain(415, TEXT_BAD_CONTENT_TYPE);
  const text = decodeUtf8(request.body);
  const reading = text === null ? null : readJson(text);
  if (reading === null) return plain(400, TEXT_BAD_JSON);
  const outcome = isInfo
    ? handler.info(reading.node, request.remoteAddress)
    : handler.exchange(reading.node, request.remoteAddress);
  if (outcome.isText) return plain(outcome.status, String(outcome.body));
  return { status: outcome.status, body: JSON.stringify(outcome.body), contentType: "application/json", headers: CORS };
}

function plain(status: number, body: string): SimHttpReply {
  return { status, body, contentType: "text/plain; charset=utf-8", headers: CORS };
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType ?? "");
}

/** Null for bytes that are not UTF-8: no JSON to the venue. */
function decodeUtf8(body: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    // The decoder's only failure is malformed input.
    return null;
  }
}

/* ------------------------------------------------------------------ accounts and control */

function openAccount(venue: Venue, options: VenueoneAccountOptions): void {
  const address = options.address.toLowerCase();
  if (!ADDRESS.test(address)) throw new RangeError("an account is a 20-byte hex address");
  const account = venue.openAccount(address, options.deposit, options.spotDeposit ?? "0");
  if (options.volume !== undefined) account.volumeE12 = (parseWireDecimalE8(options.volume) ?? 0n) * 10_000n;
  approveAgents(venue, address, options.agents ?? []);
  for (const position of options.positions ?? []) {
    const instrument = venue.exchange.instruments.get(position.coin);
    if (instrument === undefined) throw new RangeError(`no coin ${position.coin}`);
    const isShort = position.size.startsWith("-");
    const sizeE8 = parseWireDecimalE8(position.size.replace(/^-/, ""));
    const entryE8 = parseWireDecimalE8(position.entryPx);
    if (sizeE8 === null || entryE8 === null) throw new RangeError("position size and entry are decimal texts");
    const lots = Number(sizeE8 / 10n ** BigInt(8 - instrument.qtyDecimals));
    const entryTicks = Number(entryE8 / 10n ** BigInt(8 - instrument.priceDecimals));
    venue.exchange.setPosition(address, position.coin, "BOTH", isShort ? -lots : lots, entryTicks);
  }
}

function approveAgents(venue: Venue, accountId: string, agents: readonly VenueoneAgentOptions[]): void {
  for (const agent of agents) {
    const validUntil = agent.validUntilMs === undefined ? "" : ` valid_until ${agent.validUntilMs}`;
    const refusal = venue.agents.approve({
      accountId,
      agentAddress: agent.address.toLowerCase(),
      agentName: `${agent.name ?? ""}${validUntil}`,
      subAccountCount: 0,
      nowMs: venue.exchange.nowMs(),
    });
    if (refusal !== null) throw new RangeError(`agent refused: ${refusal.kind}`);
  }
}

/** `POST /_sim/accounts` takes `agents: [{address, name?, validUntilMs?}]` and `volume` (decimal text) here. */
function controlHooks(venue: Venue, sessions: Sessions): SimControlHooks {
  return {
    registerKeys(accountId, body) {
      const account = ADDRESS.test(accountId) ? venue.account(accountId) : null;
      if (account === null) throw new RangeError("accountId must be a lower-case 20-byte hex address");
      const agents = Array.isArray(body.agents) ? body.agents.map(readAgent) : [];
      approveAgents(venue, accountId, agents);
      if (typeof body.volume === "string") account.volumeE12 = (parseWireDecimalE8(body.volume) ?? 0n) * 10_000n;
      return { agents: venue.agents.list(accountId, venue.exchange.nowMs()) };
    },
    describe: () => ({
      network: venue.isMainnet ? "Mainnet" : "Testnet",
      sessionCount: sessions.count,
      universe: venue.universe.perps,
      limits: venue.limits,
      cadences: venue.cadences,
    }),
  };
}

function readAgent(value: unknown): VenueoneAgentOptions {
  const record = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const { address, name, validUntilMs } = record;
  if (typeof address !== "string" || !ADDRESS.test(address.toLowerCase()))
    throw new RangeError("an agent needs an address");
  return {
    address,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof validUntilMs === "number" ? { validUntilMs } : {}),
  };
}
