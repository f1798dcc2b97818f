/** The co-signer's end: who is let in, what strangers can do, and the bounds of a connection. Real sockets on loopback. */
import { createSecureContext, type ConnectionOptions } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { decodeHeader, encodeHeader, type Header, PROTOCOL_VERSION } from "../../engine/custody/mpc/wire/header.js";
import type { LinkProblem } from "./link-status.js";
import { type LinkIdentity, identityOf } from "./link-tls.js";
import type { PartyCertificate } from "./party-certificate.js";
import { bytesOf, closeOf, COSIGNER, frameOf, HOST, SERVICE, Stage, STRANGER, WALLET } from "./test/link-doubles.js";
import { LinkListenError } from "./link-server.js";

const stage = new Stage();
afterEach(() => stage.end());

const HELLO = bytesOf(frameOf("hello", 0));
const FREEZE = bytesOf(frameOf("freeze", 0));
const problemsOf = (end: { link: { status(): { problems: object } } }) => end.link.status().problems;

/** A server that serves the pinned peer already. */
async function serving(identity: LinkIdentity = identityOf(COSIGNER, [SERVICE.pin])) {
  const server = await stage.server({ identity });
  const peer = await stage.peer(server.port, SERVICE);
  await server.listener.until(() => server.listener.count("connected") === 1);
  let sent = 0;
  /** A frame goes in and one comes out. */
  const stillServes = async () => {
    peer.write(FREEZE);
    sent++;
    await server.listener.until(() => server.listener.messages.length === sent);
    const answer = new Promise<Buffer>((resolve) => peer.once("data", resolve));
    server.link.send(frameOf("frozen", 1));
    expect(await answer).toEqual(bytesOf(frameOf("frozen", 1)));
    expect(server.listener.count("connected") + server.listener.count("lost")).toBe(1);
  };
  return { ...server, peer, stillServes };
}

describe("a stranger", () => {
  type Tls = readonly [who: string, problem: LinkProblem, own: PartyCertificate | null, options: ConnectionOptions];
  const TLS: readonly Tls[] = [
    ["with no certificate", "NO_CERTIFICATE", null, {}],
    ["with another key", "PIN", STRANGER, {}],
    ["with the server's own certificate", "PIN", COSIGNER, {}],
    ["that speaks TLS 1.2 at most", "HANDSHAKE", SERVICE, { maxVersion: "TLSv1.2" }],
  ];
  it.each(TLS)("%s is closed before a byte is read, and counted (%s)", async (_, problem, own, options) => {
    const server = await serving();
    const stranger = await stage.peer(server.port, own, options).catch(() => null);
    stranger?.write(Buffer.concat([HELLO, FREEZE]));
    if (stranger !== null) await closeOf(stranger);
    await expect.poll(() => problemsOf(server)).toEqual({ [problem]: 1 });
    expect(server.listener.events).toEqual(["connected"]);
    expect(server.link.status().lastProblem).toBe(problem);
    await server.stillServes();
  });

  it.each([
    ["frames", Buffer.concat([HELLO, FREEZE])],
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")],
    ["zeros", Buffer.alloc(5_000)],
    ["the start of a handshake of an unknown version", Buffer.from("160301000501000001ff", "hex")],
  ])("that sends plain %s is closed, and counted", async (_, bytes) => {
    const server = await serving();
    const stranger = stage.plain(server.port);
    stranger.write(bytes);
    await closeOf(stranger);
    expect(problemsOf(server)).toEqual({ HANDSHAKE: 1 });
    expect(server.listener.events).toEqual(["connected"]);
    await server.stillServes();
  });

  it("that leaves in the handshake is counted once", async () => {
    const server = await serving();
    stage.plain(server.port).end();
    await expect.poll(() => problemsOf(server)).toEqual({ HANDSHAKE: 1 });
    expect(server.link.status().handshakes).toBe(0);
  });

  it("may stay silent for two seconds at most, eight of them at once; the ninth is closed", async () => {
    const server = await serving();
    const silent = Array.from({ length: 8 }, () => stage.plain(server.port));
    await expect.poll(() => server.link.status().handshakes).toBe(8);
    await closeOf(stage.plain(server.port));
    await expect(stage.peer(server.port, SERVICE)).rejects.toThrow();
    expect(problemsOf(server)).toEqual({ BUSY: 2 });
    await server.stillServes();

    server.clock.advance(1_999);
    expect(server.link.status().handshakes).toBe(8);
    server.clock.advance(1);
    expect(server.link.status().handshakes).toBe(0);
    for (const socket of silent) await closeOf(socket);
    expect(problemsOf(server)).toEqual({ BUSY: 2, TIMEOUT: 8 });
    expect(server.clock.pendingTimerCount).toBe(0);
    await server.stillServes();

    await stage.peer(server.port, SERVICE);
    await server.listener.until(() => server.listener.count("connected") === 2);
  });

  it("that floods the port disturbs no frame of the peer that is served", async () => {
    const server = await serving();
    const strangers: Promise<void>[] = [];
    for (let round = 0; round < 30; round++) {
      const plain = stage.plain(server.port);
      plain.write(round % 2 === 0 ? HELLO : Buffer.alloc(3_000, round));
      strangers.push(closeOf(plain));
      const tls = stage.peer(server.port, round % 3 === 0 ? null : STRANGER).catch(() => null);
      strangers.push(tls.then((socket) => (socket === null ? undefined : closeOf(socket))));
      await server.stillServes();
    }
    await Promise.all(strangers);
    await server.stillServes();
    expect(server.listener.messages).toHaveLength(31);
    const counts = Object.values(problemsOf(server)) as number[];
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
    expect(server.listener.events.filter((event) => !event.startsWith("message"))).toEqual(["connected"]);
  });
});

describe("the peer's key", () => {
  it("may be either of two pins, and is refused when its pin is gone", async () => {
    const next = STRANGER;
    const both = await stage.server({ identity: identityOf(COSIGNER, [next.pin, SERVICE.pin]) });
    for (const [index, own] of [SERVICE, next].entries()) {
      await stage.peer(both.port, own);
      await both.listener.until(() => both.listener.count("connected") === index + 1);
    }
    const later = await stage.server({ identity: identityOf(COSIGNER, [next.pin]) });
    await closeOf(await stage.peer(later.port, SERVICE));
    expect(problemsOf(later)).toEqual({ PIN: 1 });
    await stage.peer(later.port, next);
    await later.listener.until(() => later.listener.count("connected") === 1);
  });

  it("is proven by a handshake each time: a session that is offered is not resumed", async () => {
    const server = await serving();
    const session = await new Promise<Buffer>((resolve) => {
      server.peer.once("session", resolve);
      server.link.send(frameOf("frozen", 1));
      server.peer.resume();
    });
    const again = await stage.peer(server.port, SERVICE, { session });
    expect(again.isSessionReused()).toBe(false);
    await server.listener.until(() => server.listener.count("connected") === 2);
  });

  it("is not proven by a ticket: a resumed session is closed before a byte is read, and counted", async () => {
    // As the link's own, but with tickets.
    const context = createSecureContext({
      ...{ cert: COSIGNER.certificate, key: COSIGNER.key, minVersion: "TLSv1.3", sessionIdContext: "test" },
    });
    const server = await serving({ context, pins: [SERVICE.pin] });
    const session = await new Promise<Buffer>((resolve) => {
      server.peer.once("session", resolve);
      server.link.send(frameOf("frozen", 1));
      server.peer.resume();
    });
    const again = await stage.peer(server.port, SERVICE, { session });
    expect(again.isSessionReused()).toBe(true);
    again.write(FREEZE);
    await closeOf(again);
    expect(problemsOf(server)).toEqual({ RESUMED: 1 });
    expect(server.listener.events).toEqual(["connected"]);
  });
});

describe("a connection", () => {
  it("is replaced by a newer one of the same peer: lost, then connected", async () => {
    const server = await serving();
    const newer = await stage.peer(server.port, SERVICE);
    await closeOf(server.peer);
    await server.listener.until(() => server.listener.count("connected") === 2);
    newer.write(FREEZE);
    await server.listener.until(() => server.listener.messages.length === 1);
    expect(server.listener.events).toEqual(["connected", "lost", "connected", "message 70"]);
    expect(problemsOf(server)).toEqual({ REPLACED: 1 });
    expect(server.link.status()).toMatchObject({ connected: true, connections: 2, framesIn: 1 });
  });

  it("hands on nothing of the former one, and waits for what that one began", async () => {
    const server = await serving();
    const { listener } = server;
    let finish = () => {};
    listener.handle = () => new Promise((resolve) => (finish = resolve));
    server.peer.write(Buffer.concat([bytesOf(frameOf("state", 0)), FREEZE, FREEZE]));
    await listener.until(() => listener.messages.length === 1);
    await expect.poll(() => server.link.status().waitingFrames).toBe(3);
    const newer = await stage.peer(server.port, SERVICE);
    await listener.until(() => listener.count("connected") === 2);
    newer.write(bytesOf(frameOf("abort", 0)));
    await expect.poll(() => server.link.status().waitingFrames).toBe(1);
    expect(listener.messages).toHaveLength(1);
    finish();
    await listener.until(() => listener.messages.length === 2);
    expect(listener.events).toEqual(["connected", "message 2", "lost", "connected", "message 7f"]);
  });

  it("that ends within a frame hands on what was whole, and not the rest", async () => {
    const server = await serving();
    const flight = bytesOf(frameOf("f3", 0));
    server.peer.write(Buffer.concat([FREEZE, flight.subarray(0, 30_000)]));
    await server.listener.until(() => server.listener.messages.length === 1);
    server.peer.destroy();
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(server.listener.events).toEqual(["connected", "message 70", "lost"]);
    expect(problemsOf(server)).toEqual({ LOST: 1 });
  });

  it("that ends before its first frame is counted as refused by the peer", async () => {
    const server = await serving();
    server.peer.end();
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(problemsOf(server)).toEqual({ REFUSED: 1 });
  });

  const legal = frameOf("freeze", 0).header;
  const NAMED = WALLET.toString("hex");
  const ILLEGAL: readonly (readonly [what: string, header: Header, wallet: string])[] = [
    ["an unknown type", { ...legal, type: 0x55 }, NAMED],
    ["a type that only the co-signer sends", { ...legal, type: 0x31, length: 26_754, seq: 2 }, NAMED],
    ["a byte of body too many", { ...legal, length: 1 }, NAMED],
    ["four gigabytes of body", { ...legal, length: 0xffff_ffff }, NAMED],
    ["itself as the receiver's party", { ...legal, from: 1 }, NAMED],
    ["a third party", { ...legal, from: 2 }, NAMED],
    ["another receiver", { ...legal, to: 0 }, NAMED],
    ["another place in its protocol", { ...legal, seq: 1 }, NAMED],
    ["a wallet in Hello", { ...frameOf("hello", 0).header, walletId: WALLET }, NAMED],
    ["no wallet and an unknown type", { ...legal, type: 0, walletId: Buffer.alloc(16) }, "-"],
  ];
  it.each(ILLEGAL)("is closed behind a header with %s", async (_, header, wallet) => {
    const server = await serving();
    server.peer.write(Buffer.concat([FREEZE, encodeHeader(header), FREEZE]));
    await closeOf(server.peer);
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(server.listener.events).toEqual(["connected", "message 70", `malformed ${wallet}`, "lost"]);
    expect(problemsOf(server)).toEqual({ MALFORMED: 1 });
  });

  it.each([PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1])(
    "of version %i is refused by that name, and breaks no rule; it can read which version this is",
    async (version) => {
      const server = await serving();
      const read: Buffer[] = [];
      server.peer.on("data", (chunk: Buffer) => read.push(chunk));
      server.link.send(frameOf("hello", 1));
      const { header, body } = frameOf("hello", 0);
      server.peer.write(Buffer.concat([FREEZE, bytesOf({ header: { ...header, version }, body }), FREEZE]));
      await closeOf(server.peer);
      await server.listener.until(() => server.listener.count("lost") === 1);
      expect(server.listener.events).toEqual(["connected", "message 70", "lost"]);
      expect(problemsOf(server)).toEqual({ VERSION: 1 });
      expect(decodeHeader(Buffer.concat(read)).version).toBe(PROTOCOL_VERSION);
    },
  );

  it("is paused at 64 frames that are not handled, and goes on in order when they are", async () => {
    const server = await serving();
    const { listener, link } = server;
    const finishers: (() => void)[] = [];
    let waitingMax = 0;
    listener.handle = () => {
      waitingMax = Math.max(waitingMax, link.status().waitingFrames);
      return new Promise((resolve) => finishers.push(resolve));
    };
    // Small frames, many to a chunk: the rest of the chunk must wait too.
    const total = 1_000;
    const numbered = Array.from({ length: total }, (_, index) => {
      const { header, body } = frameOf("abort", 0);
      return bytesOf({ header: { ...header, ctr: BigInt(index) }, body });
    });
    server.peer.write(Buffer.concat(numbered));
    await expect.poll(() => link.status().waitingFrames).toBe(64);
    for (let handled = 0; handled < total; handled++) {
      await listener.until(() => listener.messages.length === handled + 1);
      expect(link.status().framesIn).toBeLessThanOrEqual(handled + 64);
      finishers.shift()?.();
    }
    expect(waitingMax).toBe(64);
    expect(listener.messages.map(({ header }) => Number(header.ctr))).toEqual([...numbered.keys()]);
    await expect.poll(() => link.status().waitingFrames).toBe(0);
  });

  it("takes no more from a peer that sends large frames than those 64 and what the buffers of a socket hold", async () => {
    const server = await serving();
    const { listener, link, peer } = server;
    let isOpen = false;
    const finishers: (() => void)[] = [];
    listener.handle = () => (isOpen ? Promise.resolve() : new Promise((resolve) => finishers.push(resolve)));
    const flight = bytesOf(frameOf("f3", 0));
    const total = 500;
    for (let sent = 0; sent < total; sent++) peer.write(flight);
    await expect.poll(() => link.status().waitingFrames).toBe(64);
    // Turns enough to read all of it; a socket that is not paused is read empty by then.
    for (let turn = 0; turn < 3_000; turn++) await new Promise((resolve) => setImmediate(resolve));
    // 33 MB were offered, 4 MB are received; most of the rest waits at the sender.
    expect(peer.writableLength).toBeGreaterThan(flight.byteLength * 100);
    expect(link.status().framesIn).toBe(64);
    isOpen = true;
    for (const finish of finishers) finish();
    await listener.until(() => listener.messages.length === total);
    expect(listener.messages.every(({ header }) => header.length === 66_845)).toBe(true);
  });

  it("ends where the peer does not read what it is sent", async () => {
    const server = await serving();
    server.peer.pause();
    let sent = 0;
    const flight = frameOf("f2", 1);
    while (server.link.status().connected) {
      server.link.send(flight);
      sent++;
    }
    expect(sent * (flight.body.byteLength + 69)).toBeGreaterThan(48 * 1024 * 1024);
    expect(server.listener.count("lost")).toBe(0);
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(problemsOf(server)).toEqual({ SLOW: 1 });
    server.link.send(flight);
    expect(server.link.status().framesOut).toBe(sent);
  });

  it("ends where a frame is not handled for a fault of this party, whose text is not logged", async () => {
    const server = await serving();
    server.listener.handle = () => Promise.reject(new Error("the share is 42"));
    server.peer.write(Buffer.concat([FREEZE, FREEZE]));
    await closeOf(server.peer);
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(server.listener.events).toEqual(["connected", "message 70", "lost"]);
    expect(problemsOf(server)).toEqual({ HANDLER: 1 });
    expect(server.logger.lines.join()).not.toContain("42");
  });

  it("is dropped from within the handling of a frame: the next frame is not handed on, and `lost` comes after", async () => {
    const server = await serving();
    server.listener.handle = () => {
      server.link.drop();
      server.listener.events.push("dropped");
      return Promise.resolve();
    };
    server.peer.write(Buffer.concat([FREEZE, FREEZE, FREEZE]));
    await closeOf(server.peer);
    await server.listener.until(() => server.listener.count("lost") === 1);
    expect(server.listener.events).toEqual(["connected", "dropped", "message 70", "lost"]);
    expect(problemsOf(server)).toEqual({ DROPPED: 1 });
  });
});

describe("the port", () => {
  it("is refused with a text where it is taken", async () => {
    const { port } = await stage.server();
    await expect(stage.server({ port })).rejects.toThrow(LinkListenError);
    await expect(stage.server({ port })).rejects.toThrow(`cannot listen on ${HOST} port ${port} (EADDRINUSE)`);
  });

  it("is closed with all its connections, handshakes under way too", async () => {
    const server = await serving();
    const silent = stage.plain(server.port);
    await expect.poll(() => server.link.status().handshakes).toBe(1);
    await Promise.all([server.link.close(), closeOf(server.peer), closeOf(silent)]);
    expect(server.listener.events).toEqual(["connected", "lost"]);
    expect(server.link.status()).toMatchObject({ connected: false, lastProblem: "CLOSED" });
    expect(server.clock.pendingTimerCount).toBe(0);
    await expect(stage.peer(server.port, SERVICE)).rejects.toThrow("ECONNREFUSED");
    await server.link.close();
  });
});
