/** What the operator alone may do or see, over the whole service put together: how its parts are wired decides it. */
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { type Admin, connectAdmin } from "../admin/admin-client.js";
import type { AuditPage } from "../auth/audit.js";
import type { NewSecret } from "../auth/key-admin.js";
import { readConfig } from "../app/config.js";
import { createService, type Service } from "../app/wiring.js";
import { TestClient } from "./client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";

const KILL = "/api/trade/kill-switch";
const FILLS = "/api/history/fills";
const SIGNED = {
  AUTH_MODE: "signed",
  KEK_HEX: Array.from({ length: 32 }, (_, index) => (index * 37 + 11).toString(16).slice(-2).padStart(2, "0")).join(""),
};

let built: BuiltClient;
let directory: string;
let service: Service | null = null;
let client: TestClient | null = null;
let admin: Admin | null = null;

beforeAll(() => {
  built = buildClient();
});
afterAll(() => built.remove());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-operator-"));
});
afterEach(async () => {
  await admin?.close();
  await client?.stop();
  await service?.stop();
  admin = client = service = null;
  rmSync(directory, { recursive: true, force: true });
});

function room(): FakeRoom {
  const clock = createSystemClock();
  const market = fakeMarket(anInstrument());
  loadBook(market.book, [[974_100, 5000]], [[974_200, 5000]], clock.monoNs());
  return createFakeRoom("venueone", [market], () => clock.wallMs());
}

async function start(overrides: Readonly<Record<string, string>>): Promise<TestClient> {
  const common = { PORT: "0", DATA_DIR: join(directory, "data"), LOG_LEVEL: "silent", RECORDING: "false" };
  const result = readConfig({ ...common, ...overrides }, () => null);
  if (!result.ok) throw new Error(result.problems.join("; "));
  service = await createService(result.config, { rooms: [room()], dashboardFolder: built.folder });
  client = new TestClient(service.url);
  admin = await connectAdmin(join(directory, "data", "admin.sock"), createSystemClock());
  return client;
}

async function asked<T>(op: "keys.create" | "audit.page", params: Readonly<Record<string, unknown>>): Promise<T> {
  const reply = await admin?.call(op, params);
  if (reply?.ok !== true) throw new Error("refused");
  return reply.result as T;
}

let lastMs = 0;
function signedBy({ key, secret }: NewSecret, body: string): Record<string, string> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const signature = createHmac("sha256", secret).update(`${lastMs}POST${KILL}${body}`).digest("hex");
  return {
    "content-type": "application/json",
    ...{ "x-api-key": key.keyId, "x-api-timestamp": String(lastMs), "x-api-signature": signature },
  };
}

describe("behind a proxy without keys", () => {
  it("nobody is the operator for being on this machine: rows of fills are refused as the kill switch is", async () => {
    const asker = await start({ TRUSTED_PROXIES: "127.0.0.1" });
    const headers = { "x-forwarded-for": "198.51.100.1" };
    const kill = await asker.send(KILL, { headers });
    const fills = await asker.send(FILLS, { headers });
    expect([kill.status, (kill.body as { code: string }).code]).toEqual([403, "OPERATOR_DATA"]);
    expect([fills.status, (fills.body as { code: string }).code]).toEqual([403, "OPERATOR_DATA"]);
  });
});

describe("the kill switch", () => {
  it("leaves a row of who set and ended it, where and why, in the audit log", async () => {
    const asker = await start(SIGNED);
    const made = await asked<NewSecret>("keys.create", { scopes: ["admin"] });
    for (const active of [true, false]) {
      const body = JSON.stringify({ active, exchange: "venuetwo", ...(active ? { reason: "drill" } : {}) });
      const reply = await asker.send(KILL, { method: "POST", headers: signedBy(made, body), body });
      expect(reply.status, reply.text).toBe(200);
    }
    const { rows } = await asked<AuditPage>("audit.page", { limit: 10 });
    expect(rows.slice(0, 2)).toMatchObject([
      { who: made.key.keyId, what: "trade.resume", subject: "venuetwo", outcome: "done", details: {} },
      {
        who: made.key.keyId,
        what: "trade.halt",
        subject: "venuetwo",
        outcome: "done",
        details: { reason: "drill" },
      },
    ]);
  });

  it("names the owner of what is made without a key where none is needed, and everywhere where no exchange is named", async () => {
    const asker = await start({});
    const body = JSON.stringify({ active: true });
    await asker.send(KILL, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { rows } = await asked<AuditPage>("audit.page", { limit: 10 });
    expect(rows[0]).toMatchObject({ who: "local", what: "trade.halt", subject: "", outcome: "done" });
  });
});

describe("the page", () => {
  it.each([
    ["wants a key where requests need one", SIGNED, true],
    ["wants none where they do not", {}, false],
  ])("%s", async (_, overrides, wantsKey) => {
    await start(overrides);
    const facts = await fetch(`${service?.url}/assets/page.json`);
    expect(await facts.json()).toMatchObject({ data: { wantsKey } });
  });
});
