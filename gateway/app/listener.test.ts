import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { type CertificateFiles, hasOpenssl, makeCertificate } from "../test/certificates.js";
import { Listener } from "./listener.js";
import { openTlsFiles, TlsRefusal } from "./tls-files.js";

const NOW_MS = Date.now();
const folder = mkdtempSync(join(tmpdir(), "unwind-tls-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const live: Listener[] = [];
afterEach(() => {
  for (const listener of live.splice(0)) listener.close();
});

let made: CertificateFiles[] = [];
/** What the service is configured with: certificates are copied there. */
const tls = { certFile: join(folder, "live.crt"), keyFile: join(folder, "live.key") };

/** As a renewal does: by rename, one file after the other. */
function install({ certFile, keyFile }: CertificateFiles): void {
  for (const [from, to] of [
    [certFile, tls.certFile],
    [keyFile, tls.keyFile],
  ] as const) {
    copyFileSync(from, `${to}.new`);
    renameSync(`${to}.new`, to);
  }
}

async function start(options: { port?: number; plain?: boolean } = {}): Promise<Listener> {
  let appCount = 0;
  const listener = new Listener(
    { host: "127.0.0.1", port: options.port ?? 0, tls: options.plain ? null : tls },
    (app) => {
      const name = `app ${++appCount}`;
      app.ws("/ws", { open: (socket) => void socket.subscribe("all"), message: () => {} });
      app.any("/*", (response) => void response.end(name));
    },
  );
  live.push(listener);
  await listener.start();
  return listener;
}

function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options }, () => resolve(socket));
    socket.on("error", reject);
  });
}

async function serialOf(port: number, options: ConnectionOptions = {}): Promise<string> {
  const socket = await handshake(port, options);
  const serial = socket.getPeerCertificate().serialNumber;
  socket.destroy();
  return serial;
}

function bodyOf(port: number, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", rejectUnauthorized: false, agent }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("end", () => resolve(text));
    }).on("error", reject);
  });
}

describe.skipIf(!hasOpenssl)("the listener with TLS (needs openssl)", () => {
  beforeAll(() => {
    made = [1, 2, 3, 4, 5, 6, 7].map((serial) => makeCertificate(folder, `c${serial}`, serial));
  });

  function certificate(serial: number): CertificateFiles {
    const files = made[serial - 1];
    if (files === undefined) throw new Error(`no certificate ${serial}`);
    return files;
  }

  it("speaks TLS 1.2 and 1.3 with forward secrecy, and nothing older or in the clear", async () => {
    install(certificate(1));
    const { port } = await start();
    const socket = await handshake(port, { maxVersion: "TLSv1.2" });
    expect([socket.getProtocol(), socket.getCipher().name]).toEqual(["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"]);
    socket.destroy();
    await expect(handshake(port, { minVersion: "TLSv1", maxVersion: "TLSv1.1" })).rejects.toThrow();
    await expect(handshake(port, { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" })).rejects.toThrow();
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  it("shows the new serial to new handshakes, with and without a server name, and old connections go on", async () => {
    install(certificate(1));
    const listener = await start();
    const { port } = listener;
    const old = new Agent({ keepAlive: true, maxSockets: 1 });
    expect([await bodyOf(port, old), await serialOf(port)]).toEqual(["app 1", "01"]);
    install(certificate(2));
    expect(await listener.reload(NOW_MS)).toMatchObject({ changed: true, view: { serial: "02" } });
    expect([await serialOf(port), await serialOf(port, { servername: "localhost" })]).toEqual(["02", "02"]);
    expect([await bodyOf(port, old), await bodyOf(port, new Agent())]).toEqual(["app 1", "app 2"]);
    expect(listener.certificate?.serial).toBe("02");
    expect(listener.retiredConnectionCount).toBe(1);
    old.destroy();
    await expect.poll(() => listener.retiredConnectionCount).toBe(0);
  });

  it("publishes to subscribers from before and after a reload, and counts both out", async () => {
    install(certificate(1));
    const listener = await start();
    const sockets: WebSocket[] = [];
    const heard: string[] = [];
    const open = async (name: string) => {
      const socket = new WebSocket(`wss://127.0.0.1:${listener.port}/ws`, { rejectUnauthorized: false });
      socket.on("message", (data: Buffer) => heard.push(`${name} ${data.toString()}`));
      await new Promise((resolve) => socket.on("open", resolve));
      sockets.push(socket);
    };
    await open("before");
    install(certificate(2));
    await listener.reload(NOW_MS);
    await open("after");
    listener.publish("all", "hello");
    await expect.poll(() => heard.toSorted()).toEqual(["after hello", "before hello"]);
    expect(listener.retiredConnectionCount).toBe(1);
    for (const socket of sockets) socket.close();
    await expect.poll(() => listener.retiredConnectionCount).toBe(0);
  });

  it("changes nothing for the same files", async () => {
    install(certificate(1));
    const listener = await start();
    expect(await listener.reload(NOW_MS)).toMatchObject({ changed: false, view: { serial: "01" } });
    expect(await bodyOf(listener.port, new Agent())).toBe("app 1");
  });

  it.each<[reason: string, spoil: () => void]>([
    ["CERT_UNREADABLE", () => rmSync(tls.certFile)],
    ["KEY_UNREADABLE", () => rmSync(tls.keyFile)],
    ["CERT_UNREADABLE", () => writeFileSync(tls.certFile, "")],
    [
      "CERT_INVALID",
      () => writeFileSync(tls.certFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ],
    ["KEY_INVALID", () => writeFileSync(tls.keyFile, "not a key")],
    ["MISMATCH", () => copyFileSync(certificate(2).certFile, tls.certFile)],
    ["KEY_OPEN_TO_OTHERS", () => chmodSync(tls.keyFile, 0o644)],
  ])("keeps the certificate before and says %s", async (reason, spoil) => {
    install(certificate(1));
    const listener = await start();
    spoil();
    await expect(listener.reload(NOW_MS)).rejects.toMatchObject({ reason });
    expect(await serialOf(listener.port)).toBe("01");
    install(certificate(3));
    expect(await listener.reload(NOW_MS)).toMatchObject({ changed: true, view: { serial: "03" } });
  });

  it("refuses an expired certificate at a reload, and starts with one all the same", async () => {
    install(certificate(1));
    const listener = await start();
    install(certificate(2));
    const later = NOW_MS + 31 * 86_400_000;
    await expect(listener.reload(later)).rejects.toMatchObject({ reason: "EXPIRED" });
    expect(await serialOf(listener.port)).toBe("01");
    const files = openTlsFiles(tls, null);
    expect(files.view.validUntilMs).toBeLessThan(later);
    files.close();
  });

  it("quotes nothing of the files in a refusal", () => {
    install(certificate(1));
    writeFileSync(tls.keyFile, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n");
    let problem = "";
    try {
      openTlsFiles(tls, null).close();
    } catch (error) {
      problem = error instanceof TlsRefusal ? error.message : "";
    }
    expect(problem).toContain(tls.keyFile);
    expect(problem).not.toContain("c2VjcmV0");
  });

  it("runs reloads one after the other, and ends connections of certificates long gone", async () => {
    install(certificate(1));
    const listener = await start();
    const agents: Agent[] = [];
    for (let serial = 2; serial <= 7; serial++) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      agents.push(agent);
      await bodyOf(listener.port, agent);
      install(certificate(serial));
      const [first, second] = await Promise.all([listener.reload(NOW_MS), listener.reload(NOW_MS)]);
      expect([first.changed, second.changed]).toEqual([true, false]);
    }
    // Six certificates have gone, and the connections of four of them are kept.
    await expect.poll(() => listener.retiredConnectionCount).toBe(4);
    for (const agent of agents) agent.destroy();
  });

  it("refuses no connection while certificates are exchanged, and resets next to none", async () => {
    install(certificate(1));
    const listener = await start();
    const client = `const { connect } = require("node:tls");
      const once = () => new Promise((resolve) => {
        const socket = connect({ port: ${listener.port}, host: "127.0.0.1", rejectUnauthorized: false }, () => { socket.destroy(); resolve("ok"); });
        socket.on("error", (error) => { socket.destroy(); resolve(error.code); });
      });
      const counts = {}; let isOver = false;
      process.stdin.on("data", () => { isOver = true; });
      const loop = async () => { while (!isOver) { const code = await once(); counts[code] = (counts[code] ?? 0) + 1; } };
      process.stdout.write("begun\\n");
      Promise.all([loop(), loop(), loop(), loop()]).then(() => { process.stdout.write(JSON.stringify(counts)); process.exit(0); });`;
    const child = spawn(process.execPath, ["-e", client], { stdio: ["pipe", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    const ended = new Promise((resolve) => child.on("close", resolve));
    await expect.poll(() => text).toContain("begun");
    const reloads = 40;
    for (let index = 1; index <= reloads; index++) {
      install(certificate(1 + (index % 2)));
      expect((await listener.reload(NOW_MS)).changed).toBe(true);
      await bodyOf(listener.port, new Agent());
    }
    child.stdin.write("over");
    await ended;
    const { ok = 0, ECONNRESET = 0, ...others } = JSON.parse(text.slice(text.indexOf("{"))) as Record<string, number>;
    expect(others).toEqual({});
    expect(ok).toBeGreaterThan(reloads);
    // The system resets what arrives between the last look at a queue and its end: some microseconds of a reload.
    expect(ECONNRESET).toBeLessThanOrEqual(reloads / 4);
  });

  it("shares its port with nobody else", async () => {
    install(certificate(1));
    const { port } = await start();
    await expect(start({ port })).rejects.toThrow(/the port is taken/);
    await expect(start({ port, plain: true })).rejects.toThrow(/the port is taken/);
  });

  it("says at the start what is wrong with the files", async () => {
    install(certificate(1));
    copyFileSync(certificate(2).keyFile, tls.keyFile);
    await expect(start()).rejects.toThrow(/is not that of the certificate/);
  });
});

describe("the listener without TLS", () => {
  it("has its port alone and no certificate to reload", async () => {
    const listener = await start({ plain: true });
    expect(await (await fetch(`http://127.0.0.1:${listener.port}/`)).text()).toBe("app 1");
    await expect(start({ plain: true, port: listener.port })).rejects.toThrow(/the port is taken/);
    await expect(listener.reload(NOW_MS)).rejects.toMatchObject({ reason: "REFUSED_BY_SERVER" });
  });
});
