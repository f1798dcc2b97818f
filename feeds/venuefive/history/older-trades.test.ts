import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { connectOlderTrades, OlderTrades } from "./older-trades.js";
import { firstOlder, type OlderMark } from "./page-cursor.js";

const TRADER = `0x${"1a".repeat(20)}`;
const OPTIONS: CallOptions = { timeoutMs: 5_000, lane: "read" };
const SINCE_MS = Date.parse("2025-09-24T00:00:00.000Z");

interface Closed {
  readonly id: string;
  readonly timeMs: number;
}

/** In the shape of the vendor's page; the numbers are made up. */
function vendorRow({ id, timeMs }: Closed): unknown {
  const t = {
    ...{ index: 1, initialPosToken: 0.98542, leverage: 36, openPrice: 113983.22122069, pairIndex: 1 },
    ...{ positionSizeUSDC: 1757.600519, sl: 0, tp: 193090.9, trader: TRADER, buy: true, timestamp: 1757600519 },
  };
  const _feeInfo = { closingFee: 0.147813, r: 0.222313, liquidationFee: 0.147813 };
  const args = { t, price: 112002.68, positionSizeUSDC: 0.98542, usdcSentToTrader: 0, isPnl: false, _feeInfo };
  return { _id: id, event: { args }, _grossPnl: -0.61529399999998, timeStamp: new Date(timeMs).toISOString() };
}

/** A service over a list of trades, newest first, which a test may add to between two requests. */
class Service implements VenueHttp {
  trades: readonly Closed[];
  paths: string[] = [];
  answer: ((page: number) => HttpResult | null) | null = null;

  constructor(trades: readonly Closed[]) {
    this.trades = trades;
  }

  request({ path }: { readonly path: string }): Promise<HttpResult> {
    this.paths.push(path);
    const [page = 0, limit = 0] = path.split("/").slice(-2).map(Number);
    const special = this.answer?.(page) ?? null;
    if (special !== null) return Promise.resolve(special);
    const rows = this.trades.slice((page - 1) * limit, page * limit).map(vendorRow);
    if (rows.length === 0)
      return Promise.resolve(reply({ success: false, errorMessage: "Unable to get the portfolio." }));
    const pageCount = Math.ceil(this.trades.length / limit);
    return Promise.resolve(reply({ portfolio: rows, count: this.trades.length, pageCount, success: true }));
  }
}

function reply(body: unknown, status = 200): HttpResult {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "response", status, headers: {}, body: text, sentAtMs: 0, receivedAtMs: 0 };
}

function older(service: Service): OlderTrades {
  const symbolOf = (pairIndex: number): string => (pairIndex === 1 ? "BTC" : `PAIR_${pairIndex}`);
  return new OlderTrades({
    http: service,
    basePath: "/api",
    symbolOf,
    isDollarBased: (index) => index === 11,
    clock: new VirtualClock(),
  });
}

const closedBefore = (count: number, fromMs = SINCE_MS): Closed[] =>
  Array.from({ length: count }, (_, index) => ({ id: `a${index}`, timeMs: fromMs - 1_000 * (index + 1) }));

async function ids(trades: OlderTrades, service: Service, limit: number, between: () => void = () => {}) {
  const seen: number[] = [];
  for (let mark: OlderMark | null = firstOlder(SINCE_MS); mark !== null; between()) {
    const page = await trades.read(TRADER, mark, { limit, symbol: null }, OPTIONS);
    if (!page.ok) throw new Error(page.message);
    seen.push(...page.rows.map(({ closedAtMs }) => closedAtMs));
    mark = page.next;
    if (service.paths.length > 100) throw new Error("it goes round");
  }
  return seen;
}

describe("closed trades of the vendor's history service", () => {
  it("are records of ours, with numbers to the places of the chain", async () => {
    const service = new Service(closedBefore(1));
    const page = await older(service).read(TRADER, firstOlder(SINCE_MS), { limit: 5, symbol: "BTC" }, OPTIONS);
    expect(service.paths).toEqual([`/api/v2/history/portfolio/history/${TRADER}/1/20`]);
    expect(page).toMatchObject({ ok: true, next: null });
    expect(page.ok && page.rows).toEqual([
      {
        ...{ symbol: "BTC", direction: "LONG", entryPrice: "113983.22122069", exitPrice: "112002.68" },
        ...{ collateral: "0.98542", size: "0.000311231", leverage: "36", realizedPnl: "-0.98542" },
        // As the vendor has it: closing fee and rollover.
        ...{ fees: "0.370126", usdcReceived: "0", isZeroFee: false, isLiquidation: true },
        ...{ openedAtMs: 1_757_600_519_000, closedAtMs: SINCE_MS - 1_000, txHash: null },
      },
    ]);
    const none = await older(service).read(TRADER, firstOlder(SINCE_MS), { limit: 5, symbol: "ETH" }, OPTIONS);
    expect(none).toEqual({ ok: true, rows: [], next: null });
  });

  it("leave out what the index has, and come each once while new trades move the vendor's pages", async () => {
    const trades = closedBefore(57);
    const service = new Service([{ id: "n0", timeMs: SINCE_MS + 5_000 }, { id: "n1", timeMs: SINCE_MS }, ...trades]);
    let added = 0;
    const add = (): void => {
      service.trades = [{ id: `m${added}`, timeMs: SINCE_MS + 60_000 + added++ }, ...service.trades];
    };
    expect(await ids(older(service), service, 7, add)).toEqual(trades.map(({ timeMs }) => timeMs));
    expect(added).toBeGreaterThan(7);
  });

  it("of the same moment come each once, over pages of one", async () => {
    const service = new Service(["x", "y", "z"].map((id) => ({ id, timeMs: SINCE_MS - 500 })));
    expect(await ids(older(service), service, 1)).toHaveLength(3);
  });

  it("of a trader without any are none", async () => {
    const service = new Service([]);
    expect(await ids(older(service), service, 10)).toEqual([]);
  });

  it("come over HTTP, below the path of the service's URL", async () => {
    const service = new Service(closedBefore(1));
    const server = createServer((request, response) => {
      void service.request({ path: request.url ?? "" }).then((result) => {
        response.end(result.kind === "response" ? result.body : "");
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const common = { clock: new VirtualClock(), random: createSeededRandom(1), logger: silentLogger };
    const { trades, close } = connectOlderTrades(`http://127.0.0.1:${port}/api/`, {
      ...common,
      symbolOf: () => "BTC",
      isDollarBased: () => false,
    });
    const page = await trades.read(TRADER, firstOlder(SINCE_MS), { limit: 5, symbol: null }, OPTIONS);
    await close(0);
    server.closeAllConnections();
    server.close();
    expect(page).toMatchObject({ ok: true, rows: [{ symbol: "BTC" }], next: null });
    expect(service.paths).toEqual([`/api/v2/history/portfolio/history/${TRADER}/1/20`]);
    for (const url of ["", "ftp://example.com", "https://"])
      expect(() => connectOlderTrades(url, { ...common, symbolOf: () => "BTC", isDollarBased: () => false })).toThrow(
        RangeError,
      );
  });

  it("fail by what the service answers, and keep what came before the failure", async () => {
    const service = new Service(closedBefore(30));
    const read = () => older(service).read(TRADER, firstOlder(SINCE_MS), { limit: 40, symbol: null }, OPTIONS);
    service.answer = (page) => (page === 2 ? reply("oops", 502) : null);
    expect(await read()).toMatchObject({ ok: true, next: { page: 2 } });
    const failures = [
      [reply("oops", 502), "VENUE_ERROR"],
      [reply("slow down", 429), "RATE_LIMITED"],
      [reply({ success: false, errorMessage: "Internal" }), "VENUE_ERROR"],
      [reply("<html>"), "BAD_RESPONSE"],
      [reply({ success: true, portfolio: [{ _id: "x" }], pageCount: 1 }), "BAD_RESPONSE"],
      [{ kind: "noResponse", reason: "TIMEOUT" }, "TIMEOUT"],
    ] as const satisfies readonly (readonly [HttpResult, string])[];
    for (const [answer, code] of failures) {
      service.answer = () => answer;
      expect(await read()).toMatchObject({ ok: false, code });
    }
  });
});
