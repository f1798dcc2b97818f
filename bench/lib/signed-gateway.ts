/** A gateway in signed mode, as a process beside a started system, and keys for it. */
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSystemClock } from "../../engine/domain/clock.js";
import { connectAdmin } from "../../gateway/admin/admin-client.js";
import { type BenchChild, startChild } from "./child.js";
import { type BenchSystem, systemEnvironment } from "./system.js";

/** Any: nothing that lasts is sealed with it. */
const KEK_HEX = `${"5e".repeat(31)}01`;
/** Ticks of utime and stime in /proc; the same on every Linux that Node runs on. */
const MS_PER_TICK = 10;
export const WINDOW_MS = "60000";

export interface BenchKey {
  readonly keyId: string;
  readonly secret: string;
}

export interface SignedGateway {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly child: BenchChild;
  createKey(): Promise<BenchKey>;
  stop(): Promise<void>;
}

export async function startSignedGateway(
  venues: BenchSystem["venues"],
  more: Readonly<Record<string, string>> = {},
): Promise<SignedGateway> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-bench-signed-"));
  const dataDir = join(folder, "data");
  const kekFile = join(folder, "kek");
  writeFileSync(kekFile, KEK_HEX, { mode: 0o600 });
  const environment = { ...systemEnvironment(venues, dataDir), AUTH_MODE: "signed", KEK_FILE: kekFile, ...more };
  const child = await startChild("../gateway/main.js", environment, [], 30_000, { isProbed: true });
  const url = child.firstLine.replace(/^ready /, "");
  return {
    ...{ url, port: Number(new URL(url).port), pid: child.process.pid ?? 0, child },
    async createKey() {
      const admin = await connectAdmin(join(dataDir, "admin.sock"), createSystemClock());
      const reply = await admin.call("keys.create", { scopes: ["read", "trade"] });
      await admin.close();
      if (!reply.ok) throw new Error(`no key was made: ${reply.code}`);
      const { key, secret } = reply.result as { key: { keyId: string }; secret: string };
      return { keyId: key.keyId, secret };
    },
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Signing {
  readonly method: string;
  readonly target: string;
  readonly body?: string;
  readonly window?: string;
}

/** Headers of a request that is valid for a minute. */
export function signedHeaders({ keyId, secret }: BenchKey, { method, target, body = "", window = WINDOW_MS }: Signing) {
  const timestamp = String(Date.now());
  const signature = createHmac("sha256", secret).update(`${timestamp}${window}${method}${target}${body}`).digest("hex");
  return {
    "x-api-key": keyId,
    "x-api-timestamp": timestamp,
    "x-api-recv-window": window,
    "x-api-signature": signature,
  };
}

/** CPU time of a process so far. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // pid (name) state …: the name may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}
