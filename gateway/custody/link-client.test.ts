/** The service's end: whom it talks to, and how it comes back. Real sockets on loopback, virtual time. */
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { type LinkProblem, signerProblemOf } from "./link-status.js";
import { identityOf, peerFault } from "./link-tls.js";
import { bytesOf, closeOf, COSIGNER, frameOf, HOST, passPause, SERVICE, Stage, STRANGER } from "./test/link-doubles.js";

const stage = new Stage();
afterEach(() => stage.end());

const FREEZE = bytesOf(frameOf("freeze", 1));

/** A TLS server of a test; `onPeer` gets each socket when the handshake has ended. */
async function tlsServer(options: TlsOptions, onPeer: (socket: TLSSocket) => void): Promise<number> {
  const server = createTlsServer({ requestCert: true, rejectUnauthorized: false, ...options }, (socket) => {
    socket.on("error", () => {});
    stage.later(() => socket.destroy());
    onPeer(socket);
  });
  stage.later(() => server.close());
  return opened(server);
}

/** A TCP server of a test. */
async function plainServer(onPeer: (socket: Socket) => void, port = 0): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    stage.later(() => socket.destroy());
    onPeer(socket);
  });
  stage.later(() => server.close());
  return opened(server, port);
}

async function opened(server: ReturnType<typeof createServer>, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return address.port;
}

const SHOWN = { cert: COSIGNER.certificate, key: COSIGNER.key };
const OTHER = { cert: STRANGER.certificate, key: STRANGER.key };
const HTTP = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

describe("the client", () => {
  const STRANGERS: readonly (readonly [what: string, problem: LinkProblem, start: () => Promise<number>])[] = [
    ["a server with another key", "PIN", () => tlsServer(OTHER, (socket) => socket.write(FREEZE))],
    [
      "a server that speaks TLS 1.2 at most",
      "HANDSHAKE",
      () => tlsServer({ ...SHOWN, maxVersion: "TLSv1.2" }, () => {}),
    ],
    ["plain HTTP", "HANDSHAKE", () => plainServer((socket) => socket.end(HTTP))],
    ["plain frames", "HANDSHAKE", () => plainServer((socket) => socket.write(FREEZE))],
    ["a port that closes at once", "HANDSHAKE", () => plainServer((socket) => socket.destroy())],
  ];
  it.each(STRANGERS)("takes nothing from %s (%s), and tries again", async (_, problem, start) => {
    const { link, listener, clock, logger } = stage.client(await start());
    await expect.poll(() => link.status().problems).toEqual({ [problem]: 1 });
    expect(clock.pendingTimerCount).toBe(1);
    clock.advance(100);
    await expect.poll(() => link.status().problems).toEqual({ [problem]: 2 });
    expect(listener.events).toEqual([]);
    expect(link.status()).toMatchObject({ connected: false, lastProblem: problem, connections: 0, framesIn: 0 });
    // The same problem again is no news.
    expect(logger.lines).toEqual([`custody.link_not_up {"problem":"${problem}"}`]);
  });

  it("gives a server that stays silent two seconds", async () => {
    let seen: Socket | null = null;
    const port = await plainServer((socket) => {
      seen = socket;
    });
    const { link, clock } = stage.client(port);
    await expect.poll(() => seen).not.toBeNull();
    expect(link.status().handshakes).toBe(1);
    clock.advance(1_999);
    expect(link.status().problems).toEqual({});
    clock.advance(1);
    expect(link.status()).toMatchObject({ problems: { TIMEOUT: 1 }, handshakes: 0 });
  });

  it("finds a server that comes up late, with pauses that grow to five seconds and are drawn from the whole span", async () => {
    const port = await plainServer(() => {});
    await stage.end();
    const { link, listener, clock } = stage.client(port, { random: { next: () => 0.5 } });
    const halves = [50, 100, 200, 400, 800, 1_600, 2_500, 2_500];
    for (const [failed, pauseMs] of halves.entries()) {
      await expect.poll(() => link.status().problems).toEqual({ UNREACHABLE: failed + 1 });
      clock.advance(pauseMs - 1);
      expect(link.status().handshakes).toBe(0);
      clock.advance(1);
      expect(link.status().handshakes).toBe(1);
    }
    await expect.poll(() => link.status().problems).toEqual({ UNREACHABLE: halves.length + 1 });
    const server = await stage.server({ port });
    clock.advance(2_500);
    await listener.until(() => listener.count("connected") === 1);
    await server.listener.until(() => server.listener.count("connected") === 1);
    expect(link.status()).toMatchObject({ connected: true, lastProblem: "UNREACHABLE", connections: 1 });
  });

  it("starts again from the shortest pause where a connection has lasted, and only there", async () => {
    const server = await stage.server();
    const asked: number[] = [];
    const client = stage.client(server.port, { random: { next: () => 1 } });
    const { link, listener, clock } = client;
    const pauseAfterDrop = async () => {
      const lost = listener.count("lost") + 1;
      link.drop();
      await listener.until(() => listener.count("lost") === lost);
      asked.push(passPause(client));
      await listener.until(() => listener.count("connected") === lost + 1);
    };
    await listener.until(() => listener.count("connected") === 1);
    for (let drop = 0; drop < 8; drop++) await pauseAfterDrop();
    expect(asked).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    asked.length = 0;
    clock.advance(4_999);
    await pauseAfterDrop();
    clock.advance(5_000);
    await pauseAfterDrop();
    await pauseAfterDrop();
    expect(asked).toEqual([5_000, 100, 200]);
    expect(link.status().problems).toEqual({ DROPPED: 11 });
  });

  it("takes either of two pins of the server", async () => {
    for (const own of [COSIGNER, STRANGER]) {
      const server = await stage.server({ identity: identityOf(own, [SERVICE.pin]) });
      const { listener } = stage.client(server.port, { identity: identityOf(SERVICE, [STRANGER.pin, COSIGNER.pin]) });
      await listener.until(() => listener.count("connected") === 1);
    }
  });

  it("learns that the server does not know its key: lost before a frame, and counted as refused", async () => {
    const server = await stage.server({ identity: identityOf(COSIGNER, [STRANGER.pin]) });
    const { link, listener } = stage.client(server.port);
    await listener.until(() => listener.count("lost") === 1);
    expect(link.status()).toMatchObject({ problems: { REFUSED: 1 }, lastProblem: "REFUSED" });
    expect(server.listener.events).toEqual([]);
    expect(server.link.status().problems).toEqual({ PIN: 1 });
  });

  it("names a co-signer of another version by that, whose messages break no rule, and tries again", async () => {
    const { header, body } = frameOf("hello", 1);
    const port = await tlsServer({ ...SHOWN, minVersion: "TLSv1.3" }, (socket) => {
      socket.write(bytesOf({ header: { ...header, version: 1 }, body }));
    });
    const client = stage.client(port);
    await client.listener.until(() => client.listener.count("lost") === 1);
    expect(client.link.status()).toMatchObject({ problems: { VERSION: 1 }, lastProblem: "VERSION" });
    expect(signerProblemOf(client.link.status())).toBe("VERSION");
    passPause(client);
    await client.listener.until(() => client.listener.count("lost") === 2);
    expect(client.listener.events).toEqual(["connected", "lost", "connected", "lost"]);
  });

  it("offers no session of a former connection, whatever tickets a server gives", async () => {
    const reused: boolean[] = [];
    const port = await tlsServer({ ...SHOWN, minVersion: "TLSv1.3", sessionIdContext: "test" }, (socket) => {
      reused.push(socket.isSessionReused());
      socket.write(FREEZE);
    });
    const client = stage.client(port);
    const { link, listener } = client;
    for (let round = 1; round <= 3; round++) {
      await listener.until(() => listener.messages.length === round);
      link.drop();
      await listener.until(() => listener.count("lost") === round);
      passPause(client);
    }
    await listener.until(() => listener.messages.length === 4);
    expect(reused).toEqual([false, false, false, false]);
  });

  it("is closed while it waits, connects or serves, and tells a loss once", async () => {
    const silent = await plainServer(() => {});
    const connecting = stage.client(silent);
    await connecting.link.close();
    expect(connecting.listener.events).toEqual([]);
    expect(connecting.clock.pendingTimerCount).toBe(0);

    const waiting = stage.client(await plainServer((socket) => socket.destroy()));
    await expect.poll(() => waiting.link.status().problems).toEqual({ HANDSHAKE: 1 });
    await waiting.link.close();
    expect(waiting.clock.pendingTimerCount).toBe(0);

    const server = await stage.server();
    const serving = stage.client(server.port);
    await serving.listener.until(() => serving.listener.count("connected") === 1);
    await serving.link.close();
    await serving.link.close();
    expect(serving.listener.events).toEqual(["connected", "lost"]);
    expect(serving.clock.pendingTimerCount).toBe(0);
    serving.link.send(frameOf("freeze", 0));
    serving.link.drop();
    expect(serving.link.status()).toMatchObject({ framesOut: 0, lastProblem: "CLOSED" });
  });
});

describe("the judgement of a peer", () => {
  it("refuses a resumed session at both ends, though the pinned key began it", async () => {
    const judged: unknown[] = [];
    const port = await tlsServer({ ...SHOWN, minVersion: "TLSv1.3", sessionIdContext: "test" }, (socket) => {
      judged.push(peerFault(socket, [SERVICE.pin]));
      socket.write(FREEZE);
    });
    const first = await stage.peer(port, SERVICE);
    const session = await new Promise<Buffer>((resolve) => {
      first.once("session", resolve);
      first.resume();
    });
    expect(peerFault(first, [COSIGNER.pin])).toBeNull();
    const again = await stage.peer(port, SERVICE, { session });
    expect(peerFault(again, [COSIGNER.pin])).toBe("RESUMED");
    first.end();
    again.end();
    await Promise.all([closeOf(first), closeOf(again)]);
    expect(judged).toEqual([null, "RESUMED"]);
  });
});
