/**
 * Main of the storage sidecar: opens the record's data directory and serves it over loopback HTTP until it is stopped
 * or its parent is gone. Options come in one message, so that the password is in no environment.
 */
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import { BodySpool, spoolDirectory } from "./body-spool.js";
import { openEngine } from "./chdb-engine.js";
import { type Listener, startListener } from "./clickhouse-listener.js";
import { isSidecarStart, SIDECAR_EXIT, type SidecarReport, type SidecarStart } from "./sidecar-messages.js";

/** Maximum of one batch, and of all bodies held at once. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const BODY_BUDGET_BYTES = 256 * 1024 * 1024;
/** Running inserts have this long to end; the supervisor kills the process a little later. */
const STOP_WAIT_MS = 5_000;
/** A sidecar ends itself if no parent sends a message in this time. */
const START_WAIT_MS = 10_000;

/**
 * About a third of the gateway's CPU weight where cores are scarce: it falls behind before prices do, but still runs.
 */
const NICENESS = 5;

const user = "unwind";

const impatience = setTimeout(() => process.exit(SIDECAR_EXIT.fault), START_WAIT_MS);
/** Removes what is in memory-backed files. */
let tidy = (): void => {};
/**
 * Called when the parent was killed or has dropped this process: nothing would stop it later, and the next one waits
 * for the directory. It exits at once, because an orderly exit waits for the engine's own threads, which took minutes
 * where one was busy. Acknowledged data is in files, and the rest will be sent again.
 */
function endAtOnce(): void {
  tidy();
  process.kill(process.pid, "SIGKILL");
}
process.once("disconnect", endAtOnce);
// The parent left before this module was loaded, so its event is over.
if (process.connected === false) endAtOnce();
process.once("message", (message) => {
  clearTimeout(impatience);
  if (!isSidecarStart(message)) process.exit(SIDECAR_EXIT.fault);
  start(message).catch((error: unknown) => {
    refuse("failed", error instanceof Error ? error.name : "unknown");
  });
});

async function start(options: SidecarStart): Promise<void> {
  const opened = await openEngine({ directory: options.directory, memoryBytes: options.memoryBytes });
  if (!opened.ok) return refuse(opened.reason, opened.text);
  const { engine } = opened;
  const spool = new BodySpool(spoolDirectory(options.directory, BODY_BUDGET_BYTES), {
    bodyBytesMax: BODY_BYTES_MAX,
    budgetBytes: BODY_BUDGET_BYTES,
  });
  // However this process ends, except by being killed, it leaves nothing in memory-backed files.
  tidy = () => spool.close();
  process.once("exit", tidy);
  const listener = await startListener({ engine, spool, user, password: options.password, port: options.port });
  stopOnSignals(listener, async () => {
    await engine.close();
  });
  yieldToTheGateway();
  report({ kind: "ready", port: listener.port, version: engine.version }, () => {});
}

/**
 * Merges and parsing may use every idle core; where cores are scarce, prices come first. Called after the start, which
 * should be quick. Niceness belongs to a thread and is inherited by threads it creates, so each existing one is set.
 */
function yieldToTheGateway(): void {
  try {
    for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), NICENESS);
  } catch {
    // Another platform, or a thread that just ended: the rest runs unchanged.
  }
}

function stopOnSignals(listener: Listener, finish: () => Promise<void>): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    listener
      .close(STOP_WAIT_MS)
      .then(finish)
      .then(
        () => process.exit(SIDECAR_EXIT.stopped),
        () => process.exit(SIDECAR_EXIT.fault),
      );
  };
  process.on("SIGTERM", stop);
  // A signal to all processes of a service is meant for the parent, which stops this process in its own order.
  process.on("SIGINT", () => {});
}

function refuse(reason: Extract<SidecarReport, { kind: "refused" }>["reason"], text: string): void {
  report({ kind: "refused", reason, text }, () => process.exit(SIDECAR_EXIT[reason]));
}

function report(message: SidecarReport, then: () => void): void {
  if (process.send === undefined) then();
  else process.send(message, undefined, undefined, then);
}
