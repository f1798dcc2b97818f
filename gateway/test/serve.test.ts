import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startLocalVenues } from "../../bench/test/support/local-venues.js";
import type { VenueoneSim } from "../../bench/sim/venueone/sim.js";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { hasOpenssl, makeCertificate } from "./certificates.js";

let folder = "";
let main = "";
let cli = "";
const children: ChildProcess[] = [];

beforeAll(async () => {
  ({ venueone: venue } = await startLocalVenues(["venueone"], { seed: 14, symbols: ["BTC"] }));
  folder = mkdtempSync(join(tmpdir(), "unwind-serve-"));
  const program = join(folder, "program");
  main = compileChild("gateway/main.ts", program, [
    "gateway/children/storage.child.ts",
    "gateway/children/state-check.child.ts",
    "gateway/cli/unwind.ts",
  ]);
  cli = join(program, "gateway", "cli", "unwind.js");
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await venue.stop();
});

interface Run {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  readonly ended: Promise<number | null>;
}

function run(args: readonly string[], environment: Record<string, string>): Run {
  const child = spawn(process.execPath, [...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  const state: Run = { child, stdout: "", stderr: "", ended };
  child.stdout.on("data", (chunk: Buffer) => {
    state.stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    state.stderr += chunk.toString();
  });
  return state;
}

async function unwind(args: readonly string[], environment: Record<string, string>) {
  const script = `import(${JSON.stringify(pathToFileURL(cli).href)}).then(({ main }) => main(process.argv.slice(1)));`;
  const state = run(["-e", script, "--", ...args], environment);
  const code = await state.ended;
  return { code, stdout: state.stdout, stderr: state.stderr };
}

/** One local venue, so that nothing leaves this machine. */
let venue: VenueoneSim;
const small = () => ({
  PORT: "0",
  RECORDING: "false",
  SYMBOLS: "BTC",
  VENUEONE_REST_URL: venue.restUrl,
  VENUEONE_WS_URL: venue.wsUrl,
  VENUETWO_ENABLED: "false",
  VENUETHREE_ENABLED: "false",
  VENUEFOUR_ENABLED: "false",
});

describe("npm run serve, as a process with a wrong configuration,", () => {
  it("lists every problem in a line of its own and ends with 2, and has opened nothing", async () => {
    const dataDir = join(folder, "open");
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o755);
    const kek = join(folder, "kek");
    writeFileSync(kek, `${"ab".repeat(32)}\n`);
    chmodSync(kek, 0o644);
    const service = run([main], {
      ...{ UNWIND_PROFILE: "serve", AUTH_MODE: "public", HOST: "0.0.0.0", DATA_DIR: dataDir, KEK_FILE: kek },
      ...{ ALLOWED_ORIGINS: "*", VENUETWO_REST_URL: "http://venue.example" },
    });
    expect(await service.ended).toBe(2);
    expect(service.stdout).toBe("");
    const lines = service.stderr.trimEnd().split("\n");
    expect(lines).toEqual([
      "unwind cannot start:",
      expect.stringMatching(/^ {2}- HOST=0\.0\.0\.0 without TLS sends orders in the clear: set TLS_CERT_FILE/),
      expect.stringMatching(/^ {2}- AUTH_MODE=public lets anyone trade .*: set AUTH_MODE=signed/),
      `  - DATA_DIR ${dataDir} has mode 0755, so others can look into it: chmod 700 ${dataDir}`,
      `  - KEK_FILE ${kek} has mode 0644, so others can read it: chmod 600 ${kek}`,
      "  - ALLOWED_ORIGINS: * lets any page read: name the origins, such as https://trade.example",
      expect.stringMatching(/^ {2}- VENUETWO_REST_URL must be https/),
    ]);
    expect(existsSync(join(dataDir, "data.mdb"))).toBe(false);
    // What each line says to do is enough for that line.
    chmodSync(dataDir, 0o700);
    chmodSync(kek, 0o600);
    const again = run([main], {
      ...{ UNWIND_PROFILE: "serve", AUTH_MODE: "public", DATA_DIR: dataDir, KEK_FILE: kek },
    });
    expect(await again.ended).toBe(2);
    expect(again.stderr.trimEnd().split("\n")).toHaveLength(2);
  });
});

describe("a service as a process", () => {
  async function startService(environment: Record<string, string>): Promise<Run & { readonly url: string }> {
    const service = run([main], { ...small(), ...environment });
    await expect.poll(() => `${service.stdout}${service.stderr}`).toMatch(/^ready \S+$|cannot start/m);
    const url = /^ready (\S+)$/m.exec(service.stdout)?.[1];
    if (url === undefined) throw new Error(service.stderr);
    return Object.assign(service, { url });
  }

  it("is asked through its socket while it runs; the store is opened once it is gone, killed or not", async () => {
    const dataDir = join(folder, "asked");
    const environment = { DATA_DIR: dataDir };
    const none = await unwind(["status"], environment);
    expect(none).toMatchObject({ code: 4, stdout: "" });
    expect(none.stderr).toContain("NO_STORE");
    const service = await startService(environment);
    expect(statSync(join(dataDir, "admin.sock")).mode & 0o777).toBe(0o600);
    const status = await unwind(["status", "--json"], environment);
    expect(status).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(status.stdout)).toMatchObject({ running: true, url: service.url, pid: service.child.pid });
    service.child.kill("SIGKILL");
    await service.ended;
    const direct = await unwind(["status", "--json"], environment);
    expect(JSON.parse(direct.stdout)).toMatchObject({ running: false, url: null });
    // The socket of the killed one is in the way of nobody.
    const next = await startService(environment);
    expect(JSON.parse((await unwind(["status", "--json"], environment)).stdout)).toMatchObject({ url: next.url });
    next.child.kill("SIGTERM");
    expect(await next.ended).toBe(0);
    expect(existsSync(join(dataDir, "admin.sock"))).toBe(false);
  });

  it("warns of the former name of ALLOWED_ORIGINS", async () => {
    const service = await startService({ DATA_DIR: join(folder, "renamed"), CORS_ALLOW_ORIGIN: "https://a.example" });
    expect(service.stderr).toMatch(/"event":"config.renamed"|config\.renamed/);
    expect(service.stderr).toContain("CORS_ALLOW_ORIGIN");
  });

  it.skipIf(!hasOpenssl)(
    "takes up a new certificate on SIGHUP and by the command, and keeps one that is spoilt (needs openssl)",
    async () => {
      const [first, second] = [makeCertificate(folder, "first", 17), makeCertificate(folder, "second", 18)];
      const live = { TLS_CERT_FILE: join(folder, "live.crt"), TLS_KEY_FILE: join(folder, "live.key") };
      const install = ({ certFile, keyFile }: typeof first) => {
        copyFileSync(certFile, live.TLS_CERT_FILE);
        copyFileSync(keyFile, live.TLS_KEY_FILE);
      };
      install(first);
      const environment = { DATA_DIR: join(folder, "tls"), ...live };
      const service = await startService(environment);
      expect(service.url).toMatch(/^https:/);
      const port = Number(new URL(service.url).port);
      const serial = () =>
        new Promise<string>((resolve, reject) => {
          const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
            resolve(socket.getPeerCertificate().serialNumber);
            socket.destroy();
          }).on("error", reject);
        });
      expect(await serial()).toBe("11");
      install(second);
      service.child.kill("SIGHUP");
      await expect.poll(serial).toBe("12");
      writeFileSync(live.TLS_CERT_FILE, "spoilt");
      const refused = await unwind(["tls", "reload"], environment);
      expect(refused).toMatchObject({ code: 3, stdout: "" });
      expect(refused.stderr).toContain("The certificate before stays");
      expect(service.stderr).toMatch(/tls\.reload_failed.*CERT_INVALID|CERT_INVALID.*tls\.reload_failed/);
      expect(await serial()).toBe("12");
      install(first);
      const done = await unwind(["tls", "reload", "--json"], environment);
      expect(JSON.parse(done.stdout)).toMatchObject({ serial: "11", changed: true });
      expect(await serial()).toBe("11");
    },
  );

  it("ends its start with what is in the way of its admin socket", async () => {
    const dataDir = join(folder, "taken");
    mkdirSync(dataDir, { mode: 0o700 });
    const other = createServer().listen(join(dataDir, "admin.sock"));
    await new Promise((resolve) => other.once("listening", resolve));
    const service = run([main], { ...small(), DATA_DIR: dataDir });
    expect(await service.ended).toBe(2);
    expect(service.stderr).toContain("another process answers on the admin socket");
    other.close();
  });
});
