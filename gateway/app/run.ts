/**
 * A service as a process: the ready line, signals, and the exit on an uncaught error. Used by main.ts and by the demo.
 */
import { readFileSync } from "node:fs";
import { ServiceError } from "../../engine/domain/errors.js";
import { type Config, readConfig } from "./config.js";
import type { Environment } from "./config-reading.js";
import { createLogger, type ServiceLogger } from "./log.js";
import { StartError } from "../children/start-error.js";
import { checkStateFile } from "../children/state-check.js";
import { exitCodeOf, onStopSignals } from "./stop-signals.js";
import { createService, type Service, type ServiceOverrides } from "./wiring.js";

/** Any long time: the interval only keeps the event loop running. */
const KEEP_ALIVE_MS = 3_600_000;

/** Exit codes: 1 for a fault, 2 for a refused configuration or start. */
export const EXIT_FAULT = 1;
export const EXIT_REFUSED = 2;

/** Returns the configuration of this process; prints every problem and exits if there is one. */
export function loadConfigOrExit(environment: Environment): Config {
  const result = readConfig(environment, readFileOrNull);
  if (result.ok) return result.config;
  process.stderr.write(`unwind cannot start:\n${result.problems.map((problem) => `  - ${problem}\n`).join("")}`);
  process.exit(EXIT_REFUSED);
}

function readFileOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A missing file and an unreadable one are treated alike: the error names the path.
    return null;
  }
}

/** Starts, prints `ready <url>` once listening, and stops on SIGINT and SIGTERM; before that a signal just ends it. `onStopped` runs after a graceful stop. */
export async function runService(
  config: Config,
  overrides: ServiceOverrides = {},
  onStopped: () => Promise<void> = async () => {},
): Promise<Service> {
  // The clock's timers do not keep the process alive, and while it starts or drains nothing else may.
  setInterval(() => {}, KEEP_ALIVE_MS);
  let service: Service;
  const logger = overrides.logger ?? createLogger(config.logLevel);
  for (const { name, meant } of config.renamedNames)
    logger.warn("config.renamed", { name, problem: `is the former name of ${meant}` });
  for (const { name, meant } of config.unknownNames)
    logger.warn("config.unknown_name", meant === null ? { name } : { name, problem: `is no option; ${meant} is one` });
  try {
    await checkStateFile(config.dataDir, logger);
    service = await createService(config, { onStoreFailure: () => process.exit(EXIT_FAULT), ...overrides });
  } catch (error) {
    process.stderr.write(`unwind cannot start: ${startProblem(error)}\n`);
    await onStopped();
    process.exit(EXIT_REFUSED);
  }
  guardProcess(service.logger);
  stopOnSignals(service, onStopped);
  reloadOnHangup(service);
  process.stdout.write(`ready ${service.url}\n`);
  return service;
}

function startProblem(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof ServiceError) {
    const { directory, found, known, reason } = error.context;
    if (reason === "NEWER_FORMAT")
      return `${String(directory)} is kept in ${found === null ? "a format that is not ours" : `format ${String(found)}`}, and this program knows formats up to ${String(known)}: start the program that wrote it, or name another DATA_DIR. Nothing in it was changed`;
    if (reason === "MIGRATION_FAILED")
      return `${String(directory)} could not be brought to the format of this program; it is as it was, and the program before still reads it`;
    return `${error.message}${typeof reason === "string" ? ` (${reason})` : ""}${typeof directory === "string" ? ` in ${directory}` : ""}`;
  }
  // A bug: its stack frames help; its message might quote a secret.
  return error instanceof Error ? `${error.name}\n${framesOf(error)}` : "unknown error";
}

/**
 * An uncaught error leaves the process in an unknown state: it logs the error and ends; a supervisor starts it again.
 */
function guardProcess(logger: ServiceLogger): void {
  const end = (event: string) => (error: unknown) => {
    logger.error(event, {
      errorName: error instanceof Error ? error.name : "unknown",
      frames: error instanceof Error ? framesOf(error) : "",
    });
    process.exit(EXIT_FAULT);
  };
  process.on("uncaughtException", end("process.uncaught_exception"));
  process.on("unhandledRejection", end("process.unhandled_rejection"));
}

function framesOf(error: Error): string {
  return (error.stack ?? "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .slice(0, 8)
    .join(" | ");
}

/** Both ends are in the log. Without TLS a hangup ends the process, as it does by default. */
function reloadOnHangup({ reloadTls }: Service): void {
  if (reloadTls === null) return;
  process.on("SIGHUP", () => void reloadTls().catch(() => {}));
}

function stopOnSignals(service: Service, onStopped: () => Promise<void>): void {
  onStopSignals((signal, force) => {
    if (force) {
      // The second signal: the operator does not want to wait. Orders under way are in the intent log.
      service.logger.warn("service.stop_forced", { signal });
      process.exit(exitCodeOf(signal));
    }
    service.logger.info("service.stopping", { signal });
    service
      .stop()
      .then(onStopped)
      .then(
        () => process.exit(0),
        () => process.exit(EXIT_FAULT),
      );
  });
}
