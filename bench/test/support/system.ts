/** The real service against a local pair: configuration, wiring, store, rooms and HTTP server as in production. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CredentialSource } from "../../../engine/custody/credential-source.js";
import { DESCRIPTORS } from "../../../feeds/registry.js";
import { urlSettings } from "../../../feeds/shared/room/venue-descriptor.js";
import { readConfig, type Config } from "../../../gateway/app/config.js";
import { createLogger } from "../../../gateway/app/log.js";
import type { PageAccount } from "../../../gateway/api/routes/dashboard.js";
import type { CallerAuth } from "../../../gateway/http/caller.js";
import { TestClient } from "../../../gateway/test/client.js";
import { createService, type Service } from "../../../gateway/app/wiring.js";
import type { LocalPair } from "./local-pair.js";
import { NO_RATE_LIMITS } from "../../lib/no-rate-limits.js";

export interface System {
  readonly service: Service;
  /** Client that judges every reply by the OpenAPI document. */
  readonly client: TestClient;
  readonly dataDir: string;
  /** Every line logged so far. */
  readonly logLines: readonly string[];
  /** Stops the service; the store's folder stays. */
  stop(): Promise<void>;
  /** Removes the store's folder. */
  cleanUp(): void;
}

export interface SystemOptions {
  /** Folder of an existing store; default: a new one. */
  readonly dataDir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Server wallets; default none. */
  readonly wallets?: CredentialSource;
  /** API keys, instead of those of the configuration. */
  readonly auth?: CallerAuth;
  /** Serves the page, with the account that it opens with. */
  readonly page?: { readonly folder: string; readonly account: PageAccount | null };
}

export function configFor(
  pair: LocalPair,
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Config {
  const result = readConfig(environmentFor(pair, dataDir, environment), () => null);
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config;
}

/** Environment of a gateway process that serves the pair. */
export function environmentFor(
  pair: LocalPair,
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    PORT: "0",
    DATA_DIR: dataDir,
    SYMBOLS: "BTC,ETH",
    SHUTDOWN_GRACE_MS: "2000",
    ...urlSettings(DESCRIPTORS.venueone, pair.venueone),
    ...urlSettings(DESCRIPTORS.venuetwo, pair.venuetwo),
    VENUETHREE_ENABLED: "false",
    VENUEFOUR_ENABLED: "false",
    RECORDING: "false",
    ...NO_RATE_LIMITS,
    ...environment,
  };
}

export async function startSystem(pair: LocalPair, options: SystemOptions = {}): Promise<System> {
  const dataDir = options.dataDir ?? join(mkdtempSync(join(tmpdir(), "unwind-whole-")), "data");
  const logLines: string[] = [];
  const logger = createLogger("debug", { write: (line: string) => void logLines.push(line) });
  const wallets = options.wallets === undefined ? {} : { wallets: options.wallets };
  const { folder, account = null } = options.page ?? {};
  const page = {
    ...(folder === undefined ? {} : { dashboardFolder: folder }),
    ...(account === null ? {} : { pageAccount: account }),
    ...(options.auth === undefined ? {} : { auth: options.auth }),
  };
  const service = await createService(configFor(pair, dataDir, options.environment), { logger, ...wallets, ...page });
  const client = new TestClient(service.url);
  return {
    service,
    client,
    dataDir,
    logLines,
    async stop() {
      await client.stop();
      await service.stop();
    },
    cleanUp() {
      rmSync(dirname(dataDir), { recursive: true, force: true });
    },
  };
}

const POLL_MS = 10;
/**
 * Longest part of the time between two looks that counts against a deadline. When a machine loses its cores for a
 * while, neither the service nor its judge runs, and the time says nothing of either.
 */
const COUNTED_STEP_MS = 2 * POLL_MS;

/** Resolves with the elapsed ms once `holds`; rejects after `deadlineMs` in which this process could run. */
export async function waitUntil(what: string, deadlineMs: number, holds: () => boolean): Promise<number> {
  const startedMs = performance.now();
  let lookedMs = startedMs;
  let countedMs = 0;
  while (!holds()) {
    if (countedMs > deadlineMs)
      throw new Error(`not within ${deadlineMs} ms (${(lookedMs - startedMs).toFixed(0)} by the clock): ${what}`);
    await pause(POLL_MS);
    const nowMs = performance.now();
    countedMs += Math.min(nowMs - lookedMs, COUNTED_STEP_MS);
    lookedMs = nowMs;
  }
  return lookedMs - startedMs;
}

/** A ceiling of a wait, for a machine that others use as well. */
const FOUND_WITHIN_MS = 240_000;
const ASK_MS = 100;
/** What one look counts at most: it may wait for a service that its machine holds up. */
const COUNTED_LOOK_MS = 10 * ASK_MS;

/** The value once there is one. Rejects with `what` after so long in which this process could run. */
export async function found<T>(what: string | (() => string), look: () => Promise<T | null>): Promise<T> {
  let countedMs = 0;
  for (;;) {
    const startedMs = performance.now();
    const value = await look();
    if (value !== null) return value;
    await pause(ASK_MS);
    countedMs += Math.min(performance.now() - startedMs, COUNTED_LOOK_MS);
    if (countedMs > FOUND_WITHIN_MS)
      throw new Error(`not within ${FOUND_WITHIN_MS} ms: ${typeof what === "string" ? what : what()}`);
  }
}

/** What the promise comes to. Rejects where that takes as long as `found` waits. */
export async function within<T>(what: string, coming: Promise<T>): Promise<T> {
  let isThere = false;
  const over = () => {
    isThere = true;
  };
  coming.then(over, over);
  await Promise.race([coming, waitUntil(what, FOUND_WITHIN_MS, () => isThere)]);
  return coming;
}

/** Waits for the length of a fault or an observation, never for correctness. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
