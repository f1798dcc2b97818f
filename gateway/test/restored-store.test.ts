/** A service on a copy of its store that was put back, without wallets: exits go on, openings wait for the operator. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { connectAdmin } from "../admin/admin-client.js";
import type { AdminReply } from "../admin/protocol.js";
import { readConfig } from "../app/config.js";
import { createService, type Service } from "../app/wiring.js";
import { TestClient } from "./client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { PROVEN_AHEAD_NS } from "./harness.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const SIZED = { symbol: "BTC", size: "0.25", credentials: CREDENTIALS };

let directory: string;
let dataDir: string;
let service: Service | null = null;
let client: TestClient | null = null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-restored-"));
  dataDir = join(directory, "data");
});
afterEach(async () => {
  await ended();
  rmSync(directory, { recursive: true, force: true });
});

async function ended(): Promise<void> {
  await client?.stop();
  await service?.stop();
  client = service = null;
}

function room(): FakeRoom {
  const clock = createSystemClock();
  const market = fakeMarket(anInstrument());
  loadBook(market.book, [[974_100, 5000]], [[974_200, 5000]], clock.monoNs());
  const made = createFakeRoom("venueone", [market], () => clock.wallMs());
  made.held.set("BTC", 1000);
  return made;
}

async function started(): Promise<TestClient> {
  const common = { PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "silent", RECORDING: "false", CLOSE_DEADLINE_MS: "30000" };
  const result = readConfig(common, () => null);
  if (!result.ok) throw new Error(result.problems.join("; "));
  const one = room();
  service = await createService(result.config, { rooms: [one] });
  // The start, or any pause, may take longer than a book stays fresh.
  const provenNs = createSystemClock().monoNs() + PROVEN_AHEAD_NS;
  for (const market of one.markets.values()) market.book.prove(provenNs);
  client = new TestClient(service.url);
  return client;
}

const post = (on: TestClient, path: string, body: object) =>
  on.send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
const open = (on: TestClient) => post(on, "/api/trade/position/open", { ...SIZED, direction: "LONG" });
const leverage = (on: TestClient) =>
  post(on, "/api/trading/venueone/leverage", { symbol: "BTC", leverage: 5, credentials: CREDENTIALS });
const codeOf = ({ body }: { readonly body: unknown }) => (body as { readonly code?: string }).code;

async function storeOf(on: TestClient) {
  const { body } = await on.get("/api/status");
  return (body as { data: { store: { restored: { reason: string } | null } } }).data.store.restored;
}

/** By the operator's socket. */
async function admin(op: "reconcile.begin" | "reconcile.view" | "reconcile.release"): Promise<AdminReply> {
  const connected = await connectAdmin(join(dataDir, "admin.sock"), createSystemClock());
  try {
    return await connected.call(op, {});
  } finally {
    await connected.close();
  }
}

describe("a service on a store that was put back", () => {
  it("closes, opens nothing and sets nothing until it is released, and says so everywhere", async () => {
    expect(await storeOf(await started())).toBe(null);
    await ended();
    const copy = join(directory, "copy");
    cpSync(dataDir, copy, { recursive: true });
    const before = await started();
    expect([await storeOf(before), (await open(before)).status]).toEqual([null, 200]);
    await ended();

    rmSync(dataDir, { recursive: true });
    cpSync(copy, dataDir, { recursive: true });
    const back = await started();
    expect(await storeOf(back)).toMatchObject({ reason: "FILE_AHEAD" });
    const ready = await back.get("/ready");
    expect([ready.status, ready.text.includes("RESTORED_STORE")]).toEqual([200, true]);
    expect((await back.get("/metrics")).text).toContain("unwind_store_restored 1");
    for (const refused of [await open(back), await leverage(back)])
      expect([refused.status, codeOf(refused)]).toEqual([503, "RESTORED_STORE"]);
    const closed = await back.close({ ...SIZED, direction: "LONG" });
    expect(closed.status, closed.text).toBe(200);

    expect(await admin("reconcile.release")).toMatchObject({ ok: false, code: "RELEASE_REFUSED" });
    await admin("reconcile.begin");
    for (let isRunning = true; isRunning; ) {
      const view = (await admin("reconcile.view")) as { readonly result: { readonly isRunning: boolean } };
      ({ isRunning } = view.result);
    }
    expect(await admin("reconcile.release")).toMatchObject({ ok: true, result: { blocks: 0, rows: 0 } });
    expect([await storeOf(back), (await open(back)).status]).toEqual([null, 200]);
    await ended();
    expect(await storeOf(await started())).toBe(null);
  });
});
