import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { connectAdmin } from "./admin-client.js";
import { AdminServer, type AdminLimits } from "./admin-server.js";
import { AdminOperations } from "./operations.js";
import { REQUEST_BYTES_MAX } from "./protocol.js";
import { socketPath } from "./socket-path.js";
import { memoryPorts } from "./test/admin-doubles.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of undo.splice(0).reverse()) await end();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "unwind-admin-"));
  undo.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

type Run = AdminOperations["run"];

async function start(options: { limits?: Partial<AdminLimits>; run?: Run; path?: string } = {}) {
  const path = options.path ?? join(folder(), "admin.sock");
  const clock = new VirtualClock();
  const { ports, keys } = memoryPorts();
  const operations = options.run === undefined ? new AdminOperations(ports, silentLogger) : { run: options.run };
  const server = new AdminServer({ path, operations, clock, logger: silentLogger, limits: options.limits ?? {} });
  undo.push(() => {
    const stopped = server.stop(0);
    clock.advance(1);
    return stopped;
  });
  await server.start();
  return { path, clock, server, keys };
}

/** A client that sends raw bytes and collects what comes. */
class RawClient {
  readonly socket: Socket;
  text = "";
  readonly closed: Promise<void>;

  constructor(path: string) {
    this.socket = connect({ path, allowHalfOpen: true });
    this.socket.on("data", (chunk: Buffer) => {
      this.text += chunk.toString();
    });
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
    this.socket.on("end", () => this.socket.end());
    undo.push(() => this.socket.destroy());
  }

  replies(): { id: string | null; ok: boolean; code?: string }[] {
    return this.text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { id: string | null; ok: boolean; code?: string });
  }

  async untilReplies(count: number): Promise<void> {
    await expect.poll(() => this.replies().length).toBe(count);
  }
}

const STATUS = '{"id":"s","op":"status"}\n';

describe("the admin socket", () => {
  it("answers its operations to a client, in their order", async () => {
    const { path, keys } = await start();
    const admin = await connectAdmin(path, createSystemClock());
    expect(await admin.call("keys.create", { scopes: ["read"] })).toMatchObject({
      ok: true,
      result: { secret: "sk_of_pk_1" },
    });
    expect(await admin.call("keys.list", {})).toMatchObject({ ok: true, result: { keys: [{ keyId: "pk_1" }] } });
    expect(await admin.call("keys.revoke", { keyId: "pk_9" })).toMatchObject({ ok: false, code: "NOT_FOUND" });
    expect(keys.keys).toHaveLength(1);
    await admin.close();
  });

  it("is a file that its owner alone can open, also under a lax umask", async () => {
    const before = process.umask(0);
    try {
      const { path } = await start();
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(process.umask()).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  it("is gone after the stop, and with it every connection", async () => {
    const { path, server } = await start();
    const client = new RawClient(path);
    client.socket.write(STATUS);
    await client.untilReplies(1);
    await server.stop(1_000);
    await client.closed;
    expect(existsSync(path)).toBe(false);
  });

  it("takes the place of a process that was killed, not of one that lives", async () => {
    const path = join(folder(), "admin.sock");
    const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    expect(spawnSync(process.execPath, ["-e", script]).signal).toBe("SIGKILL");
    expect(existsSync(path)).toBe(true);
    await start({ path });
    await expect(start({ path })).rejects.toThrow(/another process answers/);
    const admin = await connectAdmin(path, createSystemClock());
    expect((await admin.call("status", {})).ok).toBe(true);
    await admin.close();
  });

  it("removes nothing that is no socket", async () => {
    const path = join(folder(), "admin.sock");
    writeFileSync(path, "mine");
    await expect(start({ path })).rejects.toThrow(/is no socket of ours/);
    expect(existsSync(path)).toBe(true);
  });

  it("is refused by its length before the system would cut it, and shortened where a relative path fits", () => {
    const long = `/${"d".repeat(60)}/${"e".repeat(60)}`;
    expect(socketPath(long, "", "/")).toMatchObject({ ok: false, problem: expect.stringContaining("ADMIN_SOCKET") });
    expect(socketPath(long, "", long)).toEqual({ ok: true, path: "admin.sock" });
    expect(socketPath("x".repeat(95), "", "/")).toMatchObject({ ok: true });
    expect(socketPath("x".repeat(96), "", "/")).toMatchObject({ ok: true, path: `${"x".repeat(96)}/admin.sock` });
    expect(socketPath("x".repeat(97), "", "/")).toMatchObject({ ok: false });
    expect(socketPath(long, "/run/a.sock")).toEqual({ ok: true, path: "/run/a.sock" });
  });
});

describe("the admin socket, spoken to with anything else,", () => {
  it.each([
    ["garbage", "GET / HTTP/1.1\r\n\r\n", "BAD_REQUEST"],
    ["bytes that are no UTF-8", Buffer.from([0xff, 0xfe, 0x0a]), "BAD_REQUEST"],
    ["a line of the longest size and one more", `${"x".repeat(REQUEST_BYTES_MAX + 1)}\n`, "LINE_TOO_LONG"],
    ["a line that never ends", "x".repeat(4 * REQUEST_BYTES_MAX), "LINE_TOO_LONG"],
  ])("answers %s and ends the connection", async (_, bytes, code) => {
    const { path, server } = await start();
    const client = new RawClient(path);
    client.socket.write(bytes);
    await client.closed;
    expect(client.replies()).toEqual([expect.objectContaining({ id: null, ok: false, code })]);
    await expect.poll(() => server.connectionCount).toBe(0);
  });

  it("answers half a line when its client has ended", async () => {
    const { path } = await start();
    const client = new RawClient(path);
    client.socket.end(`${STATUS}{"op":`);
    await client.closed;
    expect(client.replies().map(({ ok, code }) => code ?? ok)).toEqual([true, "BAD_REQUEST"]);
  });

  it("answers an unknown operation and goes on", async () => {
    const { path } = await start();
    const client = new RawClient(path);
    client.socket.write(`{"id":"1","op":"keys.drop"}\n${STATUS}`);
    await client.untilReplies(2);
    expect(client.replies().map(({ ok, code }) => code ?? ok)).toEqual(["UNKNOWN_OPERATION", true]);
  });

  it("runs one request of a client at a time, and one in a turn of the event loop", async () => {
    let running = 0;
    let most = 0;
    let turn = 0;
    const turns: number[] = [];
    const { path } = await start({
      run: async () => {
        most = Math.max(most, ++running);
        turns.push(turn);
        await Promise.resolve();
        running--;
        return {};
      },
    });
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    count();
    const client = new RawClient(path);
    client.socket.write(STATUS.repeat(500));
    await client.untilReplies(500);
    isOver = true;
    expect(most).toBe(1);
    expect(new Set(turns).size).toBe(500);
  });

  it("holds one line of a flood whose sender never reads, and closes it in time", async () => {
    const { path, clock, server } = await start({ run: async () => "x".repeat(1_000_000) });
    const socket = connect(path);
    undo.push(() => socket.destroy());
    socket.on("error", () => {});
    socket.pause();
    socket.write(STATUS.repeat(10_000));
    await expect.poll(() => clock.pendingTimerCount > 0 && server.connectionCount === 1).toBe(true);
    // The kernel takes some; the rest of a reply waits and nothing more is read meanwhile.
    await expect
      .poll(() => {
        clock.advance(10_001);
        return server.connectionCount;
      })
      .toBe(0);
  });

  it("closes a client that sends a byte now and then and no request", async () => {
    const { path, clock, server } = await start();
    const client = new RawClient(path);
    client.socket.write("{");
    await expect.poll(() => server.connectionCount).toBe(1);
    clock.advance(59_000);
    client.socket.write("{");
    clock.advance(1_001);
    await client.untilReplies(1);
    expect(client.replies()).toMatchObject([{ code: "IDLE_TIMEOUT" }]);
    await client.closed;
  });

  it("answers the clients beyond its bound with a refusal, and those within it as before", async () => {
    const { path, server } = await start({ limits: { connectionsMax: 2 } });
    const first = new RawClient(path);
    const second = new RawClient(path);
    await expect.poll(() => server.connectionCount).toBe(2);
    const many = Array.from({ length: 40 }, () => new RawClient(path));
    await Promise.all(many.map(({ closed }) => closed));
    expect(many.flatMap((one) => one.replies()).every(({ code }) => code === "TOO_MANY_CONNECTIONS")).toBe(true);
    expect(many.some((one) => one.replies().length === 1)).toBe(true);
    first.socket.write(STATUS);
    second.socket.write(STATUS);
    await first.untilReplies(1);
    await second.untilReplies(1);
  });

  it("calls an operation that does not end unknown, never failed, and takes only so many of them", async () => {
    const ends: (() => void)[] = [];
    const { path, clock } = await start({
      limits: { operationsMax: 2 },
      run: () => new Promise((resolve) => ends.push(() => resolve({}))),
    });
    const client = new RawClient(path);
    for (let count = 1; count <= 2; count++) {
      client.socket.write(STATUS);
      await expect.poll(() => ends.length).toBe(count);
      clock.advance(30_001);
      await client.untilReplies(count);
    }
    client.socket.write(STATUS);
    await client.untilReplies(3);
    expect(client.replies().map(({ code }) => code)).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "OVERLOADED"]);
    for (const end of ends) end();
    client.socket.write(STATUS);
    await expect.poll(() => ends.length).toBe(3);
    ends[2]?.();
    await client.untilReplies(4);
    expect(client.replies()[3]?.ok).toBe(true);
  });

  it("lets what runs end when the service stops, and takes nothing new", async () => {
    let end: ((value: unknown) => void) | null = null;
    const { path, server } = await start({
      run: () =>
        new Promise((resolve) => {
          end = resolve;
        }),
    });
    const client = new RawClient(path);
    client.socket.write(STATUS.repeat(2));
    await expect.poll(() => end).not.toBeNull();
    const finish = end as ((value: unknown) => void) | null;
    const stopped = server.stop(60_000);
    finish?.({ done: true });
    await stopped;
    await client.closed;
    expect(client.replies()[0]).toMatchObject({ ok: true });
    expect(
      client
        .replies()
        .slice(1)
        .every(({ code }) => code === "SHUTTING_DOWN"),
    ).toBe(true);
  });
});

describe("a client of the admin socket", () => {
  it("says that nobody listens, that a reply was lost, and that one cannot be read", async () => {
    const path = join(folder(), "admin.sock");
    await expect(connectAdmin(path, createSystemClock())).rejects.toMatchObject({ kind: "none" });
    for (const [answer, kind] of [
      ["", "lost"],
      ["not json\n", "lost"],
      ['{"id":"7","ok":true}\n', "lost"],
    ] as const) {
      const other = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(answer));
      });
      await new Promise<void>((resolve) => other.listen(path, resolve));
      const admin = await connectAdmin(path, createSystemClock());
      await expect(admin.call("status", {})).rejects.toMatchObject({ kind });
      await admin.close();
      await new Promise((resolve) => other.close(resolve));
    }
  });
});
