/** Bodies that arrive slowly, from whoever shows some text as a key or has one: they must not keep out the others. */
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";
import { ADMIN, ALICE, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";

const OPEN_BODIES_MAX = 16;
const READ = "/api/limits";
const CLOSE_PATH = "/api/trade/position/close";
const DRY = JSON.stringify({
  ...{ symbol: "BTC", direction: "LONG", size: "0.001", dryRun: true },
  credentials: { venueone: { privateKey: "0xkey-of-one" } },
});

let harness: Harness | null = null;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await harness?.stop();
  harness = null;
});

async function start(): Promise<Harness> {
  const auth = createTestAuth({ addressOf: (socket, forwardedFor) => (forwardedFor === "" ? socket : forwardedFor) });
  harness = await startHarness({ auth, server: { openBodiesMax: OPEN_BODIES_MAX, bodyDeadlineMs: 60_000 } });
  return harness;
}

/** One request whose body never ends. Resolves with its refusal; not at all while it is waited for. */
function slowBody({ server }: Harness, from: string, keyId = "pk_anything"): Promise<string> {
  const head = [
    `POST ${CLOSE_PATH} HTTP/1.1`,
    "Host: localhost",
    "Content-Type: application/json",
    `X-Forwarded-For: ${from}`,
    `X-API-KEY: ${keyId}`,
    `X-API-TIMESTAMP: ${Date.now()}`,
    `X-API-SIGNATURE: ${"0".repeat(64)}`,
    "Content-Length: 100",
  ];
  return new Promise((resolve) => {
    const socket = connect(server.port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n{`));
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => resolve(bytes.toString("latin1")));
  });
}

/** One whose body comes in two parts, the second when the first was taken in. */
async function closeInParts(running: Harness, from: string, by: TestKey): Promise<string> {
  const proof = signed(by, { method: "POST", target: CLOSE_PATH, body: DRY });
  const fields = { Host: "localhost", "Content-Type": "application/json", "X-Forwarded-For": from, ...proof };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${CLOSE_PATH} HTTP/1.1`, ...lines, `Content-Length: ${DRY.length}`].join("\r\n");
  const before = await openBodies(running);
  const socket = connect(running.server.port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => {});
  let reply = "";
  socket.on("data", (bytes) => {
    reply += bytes.toString("latin1");
  });
  socket.write(`${head}\r\n\r\n${DRY.slice(0, 9)}`);
  await expect.poll(async () => reply !== "" || (await openBodies(running)) > before, { timeout: 60_000 }).toBe(true);
  if (reply === "") socket.write(DRY.slice(9));
  await expect.poll(() => reply, { timeout: 60_000 }).not.toBe("");
  return reply;
}

async function openBodies({ client }: Harness): Promise<number> {
  const target = "/metrics";
  const { text } = await client.send(target, { headers: signed(ADMIN, { target }) });
  return Number(/^unwind_open_bodies (\d+)$/m.exec(text)?.[1]);
}

/** As many as there may be bodies, and one more: then one of them has been refused, and there is no room for another. */
async function flood(running: Harness, addressOf: (index: number) => string, keyId?: string): Promise<string> {
  const all = Array.from({ length: OPEN_BODIES_MAX + 1 }, (_, index) => slowBody(running, addressOf(index), keyId));
  return Promise.race(all);
}

const close = ({ client }: Harness, from: string, by = ALICE) =>
  client.send(CLOSE_PATH, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": from,
      ...signed(by, { method: "POST", target: CLOSE_PATH, body: DRY }),
    },
    body: DRY,
  });

describe("slow bodies of callers whose keys are not known", () => {
  it("leave room for a key that was proven from its address before, from however many addresses they come", async () => {
    const running = await start();
    const from = { "x-forwarded-for": "203.0.113.9", ...signed(ALICE, { target: READ }) };
    expect((await running.client.send(READ, { headers: from })).status).toBe(200);
    expect(await flood(running, (index) => `198.51.100.${index}`)).toContain("OVERLOADED");
    expect((await close(running, "203.0.113.9")).status).toBe(200);
  });

  it("leave room for a key that nobody has seen yet, where they come from another address", async () => {
    const running = await start();
    expect(await flood(running, () => "198.51.100.1")).toContain("OVERLOADED");
    expect((await close(running, "203.0.113.9")).status).toBe(200);
  });

  it("give their room back when they end", async () => {
    const running = await start();
    const unknown = { ...ALICE, keyId: "pk_unknown" };
    for (let round = 0; round < 3; round++) {
      expect(await flood(running, () => "198.51.100.1")).toContain("OVERLOADED");
      for (const socket of sockets.splice(0)) socket.destroy();
      const text = async () => closeInParts(running, "198.51.100.1", unknown);
      await expect.poll(text, { timeout: 60_000 }).toContain("AUTH_UNKNOWN_KEY");
    }
  });
});

describe("slow bodies of a caller whose key is known", () => {
  it("leave room for other keys, also beside those of unknown ones", async () => {
    const running = await start();
    for (const [by, from] of [
      [ALICE, "203.0.113.9"],
      [BOB, "203.0.113.10"],
    ] as const) {
      const headers = { "x-forwarded-for": from, ...signed(by, { target: READ }) };
      expect((await running.client.send(READ, { headers })).status).toBe(200);
    }
    expect(await flood(running, (index) => `198.51.100.${index}`)).toContain("OVERLOADED");
    expect(await flood(running, () => "203.0.113.9", ALICE.keyId)).toContain("OVERLOADED");
    expect((await close(running, "203.0.113.10", BOB)).status).toBe(200);
  });

  it("leave its own closes room, whose bodies come with their heads", async () => {
    const running = await start();
    const headers = { "x-forwarded-for": "203.0.113.9", ...signed(ALICE, { target: READ }) };
    expect((await running.client.send(READ, { headers })).status).toBe(200);
    expect(await flood(running, () => "203.0.113.9", ALICE.keyId)).toContain("OVERLOADED");
    expect((await close(running, "203.0.113.9")).status).toBe(200);
    expect(await closeInParts(running, "203.0.113.9", ALICE)).toContain("bodies of this key");
  });
});
