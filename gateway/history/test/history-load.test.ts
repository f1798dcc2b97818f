/** Exports of the real engine under readers that are slow or leave: bounded memory, bounded reads, nothing left running. */
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CHDB_MISSING, NEEDS_CHDB } from "../../children/test/sidecar.js";
import { DEFAULT_READ_LIMITS } from "../records-reader.js";
import { BASE_MS, HistoryBench, type HistoryFixture } from "./history-bench.js";
import { rawGet, readAll } from "./raw-reader.js";

const ROWS = 50_000;
const PATH = `/api/history/trades?symbol=BTC&from=${BASE_MS}&to=${BASE_MS + 86_400_000}&order=asc`;
/** What the system's sockets and both processes' buffers may hold for one reader. */
const PER_READER_BYTES = 16 << 20;

describe.skipIf(CHDB_MISSING)(`exports of the real engine ${NEEDS_CHDB}`, () => {
  const bench = new HistoryBench();
  const sockets: Socket[] = [];
  let fixture: HistoryFixture;
  beforeAll(async () => {
    fixture = await bench.fresh({ limits: { ...DEFAULT_READ_LIMITS, inFlightMax: 4 } });
    // A kilobyte per row: far more than all the buffers on the way hold.
    await fixture.command(
      `INSERT INTO trades (rx, ex, venue, symbol, trade_id, price, qty, taker_side, seq) SELECT fromUnixTimestamp64Milli(toInt64(${BASE_MS}), 'UTC'), fromUnixTimestamp64Milli(toInt64(${BASE_MS} + number), 'UTC'),` +
        ` 'venueone', 'BTC', concat(toString(number), repeat('-x', 500)), 1, 1, 'BUY', number FROM numbers(${ROWS})`,
    );
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => bench.dispose());

  async function reader(accept = "text/csv"): Promise<Socket> {
    const socket = await rawGet(fixture.server.port, PATH, accept);
    sockets.push(socket);
    return socket;
  }

  /** Statements that the engine is running on the trades, this question left out. */
  async function running(): Promise<number> {
    const result = await fixture.store.query(
      "SELECT count() AS n FROM system.processes WHERE query LIKE '%FROM trades%' AND query NOT LIKE '%system.processes%'",
      {},
      { timeoutMs: 5000, rowsMax: 1, bytesMax: 1 << 20 },
    );
    if (!result.ok) throw new Error(result.text);
    return Number(result.rows[0]?.n);
  }

  const pageStatus = async () => (await fixture.server.client.get(`${PATH}&limit=1`)).status;

  it("wait with their readers: memory stays, further reads are refused, and go on when readers leave", async () => {
    const before = process.memoryUsage().rss;
    for (let count = 0; count < 4; count++) await reader();
    await expect.poll(pageStatus).toBe(503);
    const grown = process.memoryUsage().rss - before;
    expect(grown).toBeLessThan(4 * PER_READER_BYTES);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(pageStatus).toBe(200);
    await expect.poll(running).toBe(0);
    expect(fixture.server.edge.routes.find((route) => route.route === "/api/history/trades")?.abortedCount).toBe(4);
  });

  it("arrive whole at a reader that begins late", async () => {
    const socket = await reader("application/x-ndjson");
    const { text, complete } = await readAll(socket);
    expect(complete).toBe(true);
    expect(text.match(/"tradeId":"\d+-x/g)).toHaveLength(ROWS);
  });

  it("end with the reader who leaves in the middle, and leave nothing running", async () => {
    for (let round = 0; round < 5; round++) {
      const socket = await reader();
      socket.resume();
      await new Promise((resolve) => socket.once("data", resolve));
      socket.destroy();
    }
    await expect.poll(running).toBe(0);
    await expect.poll(pageStatus).toBe(200);
  });

  it("beyond the byte limit are cut, not completed", async () => {
    const small = await bench.fresh({ limits: { ...DEFAULT_READ_LIMITS, exportBytesMax: 1 << 20 } });
    await small.command("INSERT INTO trades SELECT * FROM history_0.trades");
    const socket = await rawGet(small.server.port, PATH, "text/csv");
    sockets.push(socket);
    const { text, complete } = await readAll(socket);
    expect(complete).toBe(false);
    expect(text.length).toBeLessThan(2 << 20);
  });
});
