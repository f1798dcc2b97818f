/**
 * The control API of a local venue, under `/_sim/` on the venue's own port: truth to judge by, faults and skew to
 * cause, accounts to trade with. JSON in, JSON out; never rate limited and never faulted. Bound to loopback like the
 * venue, and closed to pages of another origin: a page that a browser on this machine shows must not move prices.
 */
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { FAULT_KINDS, faultSpecProblems, type FaultInjector } from "./faults.js";
import { moneyText, parseScaled, parseSafe, priceText, qtyText } from "../model/fixed.js";
import type { FaultSpec } from "./fault-types.js";
import type { SimExchange } from "../engine/exchange.js";
import type { SimBookSnapshot, SimInstrument, SimPositionSide } from "../model/types.js";
import type { ShellView, SimControlHooks, SimHttpReply, SimHttpRequest } from "./server-types.js";
import type { RecordFilter, SimRequestLog } from "./request-log.js";

export interface ControlDeps {
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly hooks: SimControlHooks;
}

/** Virtual time moved by one call, so that a slip of the keyboard does not run for hours. */
const STEP_MS_MAX = 24 * 3600 * 1000;
const RECORDS_SHOWN_MAX = 20_000;

type Body = Readonly<Record<string, unknown>>;

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

export class SimControl {
  readonly prefix = "/_sim/";
  readonly #deps: ControlDeps;

  constructor(deps: ControlDeps) {
    this.#deps = deps;
  }

  async handle(request: SimHttpRequest, shell: ShellView): Promise<SimHttpReply> {
    try {
      refuseForeignPage(request.headers);
      const value = await route(this.#deps, request, request.path.slice(this.prefix.length), shell);
      return { status: 200, body: JSON.stringify(value) };
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: JSON.stringify({ error: error.message }) };
      if (error instanceof RangeError) return { status: 400, body: JSON.stringify({ error: error.message }) };
      throw error;
    }
  }
}

/** A name of the loopback, with or without a port. */
const OWN_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** `Sec-Fetch-Site` of requests by a page of ours, and of addresses that somebody typed. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "none"]);

function refuseForeignPage(headers: SimHttpRequest["headers"]): void {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const isOwn =
    OWN_HOST.test(host) &&
    (origin === undefined || origin === `http://${host}`) &&
    (site === undefined || OWN_SITES.has(site));
  if (!isOwn) throw new Refusal(403, "not for pages of another origin");
}

interface ControlCall {
  readonly deps: ControlDeps;
  readonly shell: ShellView;
  /** The path after the route's name. */
  readonly argument: string;
  readonly query: URLSearchParams;
  /** The body as JSON, and as an object. */
  json(): unknown;
  body(): Body;
}

const ROUTES: Readonly<Record<string, (call: ControlCall) => unknown>> = {
  "GET book": ({ deps, argument, query }) => trueBook(deps, decodeURIComponent(argument), query),
  "GET orders": ({ deps, query }) => orders(deps, query),
  "GET faults": ({ deps }) => ({ active: deps.faults.active(), hits: deps.faults.hits(), kinds: FAULT_KINDS }),
  "POST faults": ({ deps, json }) => addFaults(deps, json()),
  "DELETE faults": removeFaults,
  "POST skew": ({ deps, body }) => setSkew(deps, body()),
  "POST accounts": ({ deps, body }) => createAccount(deps, body()),
  "POST positions": ({ deps, body }) => setPosition(deps, body()),
  "POST disconnect": ({ shell, body }) => disconnect(body(), shell),
  "GET state": ({ deps, shell }) => state(deps, shell),
  "POST halt": ({ deps, body }) => halt(deps, body()),
  "POST step": ({ deps, body }) => step(deps, body()),
};

/** @testonly What README.md lists. */
export const CONTROL_ROUTES: readonly string[] = Object.keys(ROUTES);

async function route(deps: ControlDeps, request: SimHttpRequest, path: string, shell: ShellView): Promise<unknown> {
  const [name = "", argument = ""] = path.split("/");
  const route = `${request.method} ${name}`;
  const json = (): unknown => parseBody(request);
  const body = (): Body => object(json());
  const own = Object.hasOwn(ROUTES, route) ? ROUTES[route] : undefined;
  if (own !== undefined) return own({ deps, shell, argument, query: new URLSearchParams(request.query), json, body });
  const { commands } = deps.hooks;
  const command = request.method === "POST" && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw new Refusal(404, `no such control: ${request.method} /_sim/${name}`);
  return command(body());
}

function removeFaults({ deps, argument }: ControlCall): unknown {
  if (argument === "") deps.faults.clear();
  else deps.faults.remove(Number(argument));
  return { active: deps.faults.active() };
}

function halt(deps: ControlDeps, body: Body): unknown {
  deps.exchange.controls.setHalted(symbolOf(deps, body.symbol).symbol, body.halted !== false);
  return { ok: true };
}

function trueBook(deps: ControlDeps, symbol: string, query: URLSearchParams): unknown {
  const instrument = symbolOf(deps, symbol);
  const depth = query.has("depth") ? integer(query.get("depth"), "depth") : Number.MAX_SAFE_INTEGER;
  const { exchange } = deps;
  let snapshot: SimBookSnapshot | null;
  if (query.has("seq")) snapshot = exchange.market.trueBook(instrument.symbol, integer(query.get("seq"), "seq"), depth);
  else if (query.has("time"))
    snapshot = exchange.market.trueBookAtTime(instrument.symbol, integer(query.get("time"), "time"), depth);
  else snapshot = exchange.market.book(instrument.symbol, depth);
  if (snapshot === null) throw new Refusal(404, "older than the kept history");
  const print = (levels: SimBookSnapshot["bids"]): string[][] =>
    levels.map((level) => [priceText(instrument, level.priceTicks), qtyText(instrument, level.qtyLots)]);
  return {
    symbol: instrument.symbol,
    seq: snapshot.seq,
    time: snapshot.tsMs,
    bids: print(snapshot.bids),
    asks: print(snapshot.asks),
  };
}

function orders(deps: ControlDeps, query: URLSearchParams): unknown {
  const filter: { -readonly [name in keyof RecordFilter]: RecordFilter[name] } = {};
  for (const name of ["accountId", "symbol", "clientId", "action"] as const) {
    const value = query.get(name);
    if (value !== null) filter[name] = value;
  }
  const records = deps.log.records(filter);
  return { total: records.length, records: records.slice(-RECORDS_SHOWN_MAX) };
}

function addFaults(deps: ControlDeps, body: unknown): unknown {
  const specs = Array.isArray(body) ? body : [body];
  const problems = specs.flatMap((spec) => faultSpecProblems(spec));
  if (problems.length > 0) throw new Refusal(400, problems.join("; "));
  return { added: specs.map((spec: FaultSpec) => deps.faults.add(spec).id), active: deps.faults.active() };
}

/** Cuts open sockets now, quiet ones too; `match` is a part of the path. */
function disconnect(body: Body, shell: ShellView): unknown {
  const match = body.match === undefined ? "" : String(body.match);
  const chosen = [...shell.sockets].filter((socket) => socket.path.includes(match));
  for (const socket of chosen) socket.terminate();
  return { cutCount: chosen.length };
}

function setSkew(deps: ControlDeps, body: Body): unknown {
  const { bps, rampMs } = body;
  if (typeof bps !== "number" || !Number.isFinite(bps) || Math.abs(bps) > 5000)
    throw new Refusal(400, "bps must be a number from -5000 to 5000");
  if (rampMs !== undefined && (typeof rampMs !== "number" || !(rampMs >= 0)))
    throw new Refusal(400, "rampMs must be a number ≥ 0");
  deps.exchange.controls.setPriceSkew(bps, rampMs ?? 0);
  // Without a ramp the books have moved before the answer.
  if ((rampMs ?? 0) === 0) deps.exchange.step();
  return { bps };
}

function createAccount(deps: ControlDeps, body: Body): unknown {
  const { accountId, deposit } = body;
  if (typeof accountId !== "string" || accountId === "" || accountId.length > 100)
    throw new Refusal(400, "accountId must be a text");
  const amount = deposit === undefined ? "0" : decimal(deposit, "deposit");
  const known = deps.exchange.accounts.find(accountId);
  if (known === null) {
    const spot = body.spotDeposit === undefined ? "0" : decimal(body.spotDeposit, "spotDeposit");
    const fees = { ...feeOption(body, "takerFeeMilliBps"), ...feeOption(body, "makerFeeMilliBps") };
    deps.exchange.desk.createAccount({
      accountId,
      deposit: amount,
      spotDeposit: spot,
      hedgeMode: body.hedgeMode === true,
      ...fees,
    });
  } else if (amount !== "0") deps.exchange.desk.adjustWallet(accountId, parseScaled(amount, 12) ?? 0n, "DEPOSIT");
  return {
    accountId,
    balance: moneyText(deps.exchange.accounts.margin(accountId).walletE12, 8),
    ...deps.hooks.registerKeys(accountId, body),
  };
}

function feeOption(body: Body, name: "takerFeeMilliBps" | "makerFeeMilliBps"): Partial<Record<typeof name, number>> {
  const value = body[name];
  if (value === undefined) return {};
  if (!Number.isSafeInteger(value)) throw new Refusal(400, `${name} must be a whole number`);
  return { [name]: value as number };
}

/** `qty` is signed decimal text; `entryPrice` defaults to the mark. */
function setPosition(deps: ControlDeps, body: Body): unknown {
  const { exchange } = deps;
  const accountId = String(body.accountId);
  if (exchange.accounts.find(accountId) === null) throw new Refusal(404, "no such account");
  const instrument = symbolOf(deps, body.symbol);
  const qtyLots = parseSafe(String(body.qty), instrument.qtyDecimals);
  if (qtyLots === null) throw new Refusal(400, "qty must be signed decimal text on the lot grid");
  const atMark = Math.round((exchange.market.mark(instrument.symbol).markE8 / 1e8) * 10 ** instrument.priceDecimals);
  const entryTicks =
    body.entryPrice === undefined ? atMark : parseSafe(String(body.entryPrice), instrument.priceDecimals);
  if (entryTicks === null || entryTicks <= 0)
    throw new Refusal(400, "entryPrice must be positive decimal text on the tick grid");
  const side = (body.positionSide ?? "BOTH") as SimPositionSide;
  if (side !== "BOTH" && side !== "LONG" && side !== "SHORT")
    throw new Refusal(400, "positionSide must be BOTH, LONG or SHORT");
  if (body.leverage !== undefined && !exchange.desk.setLeverage(accountId, instrument.symbol, Number(body.leverage)).ok)
    throw new Refusal(400, "leverage out of range");
  exchange.desk.setPosition(accountId, instrument.symbol, side, qtyLots, entryTicks);
  return {
    accountId,
    symbol: instrument.symbol,
    positionSide: side,
    qty: qtyText(instrument, qtyLots),
    entryPrice: priceText(instrument, entryTicks),
  };
}

function state(deps: ControlDeps, shell: ShellView): unknown {
  const { exchange } = deps;
  return {
    venue: exchange.venue,
    nowMs: exchange.nowMs(),
    engineSeq: exchange.market.engineSeq(),
    skewBps: exchange.controls.priceSkewBps(),
    stats: shell.stats,
    faults: { active: deps.faults.active(), hits: deps.faults.hits() },
    conserved: moneyText(exchange.accounts.conservedE12(), 12),
    symbols: [...exchange.instruments.values()].map((instrument) => symbolState(exchange, instrument)),
    accounts: exchange.accounts.all().map((account) => ({
      accountId: account.accountId,
      hedgeMode: account.hedgeMode,
      wallet: moneyText(account.walletE12, 8),
      openOrderCount: exchange.orders.open(account.accountId).length,
      positions: [...account.positions.values()]
        .filter((position) => position.qtyLots !== 0)
        .map((position) => ({
          symbol: position.symbol,
          positionSide: position.positionSide,
          qty: qtyText(exchange.instruments.get(position.symbol) as SimInstrument, position.qtyLots),
        })),
    })),
    ...deps.hooks.describe(),
  };
}

function symbolState(exchange: SimExchange, instrument: SimInstrument): unknown {
  const { symbol } = instrument;
  const bid = exchange.market.bestBid(symbol);
  const ask = exchange.market.bestAsk(symbol);
  return {
    symbol,
    seq: exchange.market.seq(symbol),
    bestBid: bid === null ? null : priceText(instrument, bid.priceTicks),
    bestAsk: ask === null ? null : priceText(instrument, ask.priceTicks),
    markPrice: moneyText(BigInt(exchange.market.mark(symbol).markE8) * 10_000n, 8),
    netLots: exchange.accounts.netLots(symbol),
  };
}

async function step(deps: ControlDeps, body: Body): Promise<unknown> {
  const { clock } = deps.exchange;
  if (!(clock instanceof VirtualClock)) throw new Refusal(409, "this venue runs on the real clock");
  const ms = body.ms;
  if (typeof ms !== "number" || !(ms >= 0 && ms <= STEP_MS_MAX))
    throw new Refusal(400, `ms must be a number from 0 to ${STEP_MS_MAX}`);
  await clock.advanceAsync(ms);
  return { nowMs: deps.exchange.nowMs() };
}

function symbolOf(deps: ControlDeps, value: unknown): SimInstrument {
  const instrument = deps.exchange.instruments.get(String(value));
  if (instrument === undefined) throw new Refusal(404, "no such symbol");
  return instrument;
}

function parseBody(request: SimHttpRequest): unknown {
  try {
    return JSON.parse(request.body.toString("utf8")) as unknown;
  } catch {
    throw new Refusal(400, "the body is not JSON");
  }
}

function object(value: unknown): Body {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Refusal(400, "the body must be an object");
  return value as Body;
}

function integer(text: string | null, name: string): number {
  if (text === null || !/^\d{1,16}$/.test(text)) throw new Refusal(400, `${name} must be a whole number`);
  return Number(text);
}

function decimal(value: unknown, name: string): string {
  const text = String(value);
  const parsed = parseScaled(text, 12);
  if (parsed === null || parsed < 0n) throw new Refusal(400, `${name} must be non-negative decimal text`);
  return text;
}
