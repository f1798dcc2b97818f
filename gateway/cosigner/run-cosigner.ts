/**
 * The co-signer as a process of its own, however it was started: by the service beside itself (cosigner.child.ts), or by
 * `unwind cosigner` on another host. Opens everything, prints or reports where it listens, and stops in order.
 */
import { readFileSync } from "node:fs";
import { ServiceError } from "../../engine/domain/errors.js";
import { type Clock, createSystemClock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { CUSTODY_ACTS } from "../../feeds/custody-acts.js";
import { AdminServer, AdminSocketError } from "../admin/admin-server.js";
import { AdminOperations } from "../admin/operations.js";
import { socketPath } from "../admin/socket-path.js";
import { checkStateFile } from "../children/state-check.js";
import { StartError } from "../children/start-error.js";
import { LinkListenError } from "../custody/link-server.js";
import { PartyCertificateError } from "../custody/party-certificate.js";
import { readPartyConfig } from "../custody/party-config.js";
import { type Cosigner, CosignerRefused, openCosigner } from "./cosigner.js";
import { cosignerPorts } from "./cosigner-admin.js";

/** For administrative acts under way at the stop. */
const ADMIN_GRACE_MS = 5_000;
/** Reasons of a ServiceError that only an operator changes. */
const FINAL_REASONS: ReadonlySet<unknown> = new Set([
  ...["KEY_WRONG", "FORMER_KEY_MISSING", "ROTATION_UNFINISHED", "NEWER_FORMAT"],
  ...["BACKUP_FOLDER_MISSING", "BACKUP_FOLDER_MODE", "BACKUP_FOLDER_READ_ONLY"],
]);

export interface RunningCosigner {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

export interface CosignerRun {
  readonly directory: string;
  /** 0: that of the configuration. */
  readonly port: number;
  readonly logger: Logger;
  readonly onStoreFailure: () => void;
}

/** Rejects with CosignerRefused: lines for the operator. */
export async function runCosigner({ directory, port, logger, onStoreFailure }: CosignerRun): Promise<RunningCosigner> {
  const clock = createSystemClock();
  const read = readPartyConfig(directory, "cosigner", textOf);
  if (!read.ok) throw new CosignerRefused(read.problems.join("\n"));
  const { config } = read;
  const own = config.cosigner;
  if (own === null) throw new CosignerRefused("the folder is not the co-signer's");
  try {
    await checkStateFile(own.dataDirectory, logger);
    const listenPort = port === 0 ? own.port : port;
    const parts = { config, port: listenPort, acts: CUSTODY_ACTS, clock, logger, onStoreFailure };
    const cosigner = await openCosigner(parts);
    const admin = await openAdmin(cosigner, own.dataDirectory, clock, logger);
    return {
      ...{ port: cosigner.port, url: cosigner.url },
      async stop() {
        await admin.stop(ADMIN_GRACE_MS);
        await cosigner.stop();
      },
    };
  } catch (error) {
    throw refusalOf(error);
  }
}

async function openAdmin(
  cosigner: Cosigner,
  dataDirectory: string,
  clock: Clock,
  logger: Logger,
): Promise<AdminServer> {
  try {
    const place = socketPath(dataDirectory, "");
    if (!place.ok)
      throw new CosignerRefused(`the path of dataDirectory is too long for a socket in it: ${dataDirectory}`);
    const operations = new AdminOperations(cosignerPorts(cosigner, clock.wallMs()), logger);
    const admin = new AdminServer({ path: place.path, operations, clock, logger });
    await admin.start();
    return admin;
  } catch (error) {
    await cosigner.stop();
    throw error;
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The problem names the path.
    return null;
  }
}

/** What an operator can mend, in words; anything else is a bug and keeps its stack. */
function refusalOf(error: unknown): unknown {
  if (error instanceof ServiceError) {
    const { reason, path } = error.context;
    const details = [reason, path].filter((detail) => typeof detail === "string");
    const text = `${error.message}${details.length === 0 ? "" : ` (${details.join(", ")})`}`;
    return new CosignerRefused(text, FINAL_REASONS.has(reason));
  }
  if (error instanceof StartError || error instanceof PartyCertificateError) return new CosignerRefused(error.message);
  const isPlain = error instanceof LinkListenError || error instanceof AdminSocketError;
  return isPlain ? new CosignerRefused(error.message, false) : error;
}
