/**
 * The way of the CLI to the administration: through the socket of the running service, else on the store itself.
 *
 * The store's own lock decides, never the file of the socket: it is taken before anything is read, a service that starts
 * meanwhile is refused by it, and where a service has it the store is not opened.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, delay } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { type Admin, AdminUnreachable, connectAdmin } from "../admin/admin-client.js";
import { directAdmin } from "../admin/direct-admin.js";
import { AdminOperations } from "../admin/operations.js";
import { socketPath } from "../admin/socket-path.js";
import type { AdminConfig } from "../app/admin-config.js";
import type { OpenAdministration } from "../app/administration.js";
import { StartError } from "../children/start-error.js";
import { CliFailure, EXIT_FAULT, EXIT_UNREACHABLE, EXIT_USAGE } from "./exit-codes.js";

export interface ReachParts {
  readonly config: AdminConfig;
  readonly keyProblems: readonly string[];
  readonly clock: Clock;
  readonly openAdministration: OpenAdministration;
  /** Rejects with StartError where the file of the store is damaged. */
  checkStateFile(directory: string): Promise<void>;
}

/** A service that has the store but not yet, or no longer, its socket. */
const BETWEEN_MS = 5_000;
const RETRY_MS = 100;

/** `creates`: the command may begin a store where there is none. Rejects with CliFailure. */
export async function reachAdmin(parts: ReachParts, creates: boolean): Promise<Admin> {
  const { config, clock } = parts;
  const place = socketPath(config.dataDir, config.adminSocket);
  if (!place.ok) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", place.problem);
  const untilNs = clock.monoNs() + BETWEEN_MS * 1e6;
  for (;;) {
    const service = await serviceAt(place.path, clock);
    if (service !== null) return service;
    const direct = await openDirectly(parts, creates);
    if (direct !== null) return direct;
    if (clock.monoNs() >= untilNs)
      throw new CliFailure(
        EXIT_UNREACHABLE,
        "SERVICE_BUSY",
        `a process has the store in ${config.dataDir} and does not answer on ${place.path}: it is starting, stopping, or another command of this kind runs`,
      );
    await delay(clock, RETRY_MS);
  }
}

async function serviceAt(path: string, clock: Clock): Promise<Admin | null> {
  try {
    return await connectAdmin(path, clock);
  } catch (error) {
    if (!(error instanceof AdminUnreachable)) throw error;
    if (error.kind === "none") return null;
    throw new CliFailure(EXIT_UNREACHABLE, "SERVICE_UNREACHABLE", error.message);
  }
}

/** Null where another process has the store. */
async function openDirectly(parts: ReachParts, creates: boolean): Promise<Admin | null> {
  const { config, keyProblems, clock } = parts;
  checkFolder(config.dataDir, creates);
  if (keyProblems.length > 0) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", keyProblems.join("; "));
  const store = await openStore(parts);
  if (store === null) return null;
  try {
    const administration = await parts.openAdministration({ store, access: config, clock, logger: silentLogger });
    const { keys, audit, sealRotation } = administration;
    const status = () => ({ ...NO_SERVICE, authMode: config.authMode, kekId: administration.kekId });
    const operations = new AdminOperations(
      { keys, audit, sealRotation, tls: null, wallets: null, reconcile: null, status },
      silentLogger,
    );
    return directAdmin(operations, async () => {
      await administration.close();
      await store.close();
    });
  } catch (error) {
    await store.close();
    throw failureOf(error);
  }
}

const NO_SERVICE = {
  running: false,
  version: "",
  profile: "",
  url: null,
  pid: process.pid,
  startedAtMs: null,
  tls: null,
} as const;

async function openStore({ config, clock, checkStateFile }: ReachParts): Promise<StateStore | null> {
  try {
    await checkStateFile(config.dataDir);
    return openLmdbStore({ directory: config.dataDir, clock });
  } catch (error) {
    if (error instanceof ServiceError && error.context["reason"] === "LOCKED") return null;
    throw failureOf(error);
  }
}

/** What this user would make there must be the service's to use. */
function checkFolder(dataDir: string, creates: boolean): void {
  if (!creates && !existsSync(join(dataDir, "data.mdb")))
    throw new CliFailure(EXIT_UNREACHABLE, "NO_STORE", `no service runs on ${dataDir}, and there is no store in it`);
  if (!existsSync(dataDir)) return;
  const { uid } = statSync(dataDir);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own)
    throw new CliFailure(
      EXIT_USAGE,
      "OTHER_USER",
      `${dataDir} belongs to another user: run this as the user of the service`,
    );
}

function failureOf(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof StartError) return new CliFailure(EXIT_USAGE, "CONFIGURATION", error.message);
  if (error instanceof ServiceError) {
    // Its text holds the problem. What is wrong is the configuration, as it is for the service.
    if (error.code === "SEAL_KEY_REFUSED") return new CliFailure(EXIT_USAGE, error.code, error.message);
    const { problem, reason } = error.context;
    const why = typeof problem === "string" ? problem : typeof reason === "string" ? reason : "";
    return new CliFailure(EXIT_UNREACHABLE, error.code, why === "" ? error.message : `${error.message} (${why})`);
  }
  return new CliFailure(EXIT_FAULT, "INTERNAL", `unexpected ${error instanceof Error ? error.name : "error"}`);
}
