/**
 * Main of the storage sidecar: opens the record's data directory and serves it over loopback HTTP until it is told to
 * stop or its parent is gone. Options come in one message, so that the password stands in no environment.
 */
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import { BodySpool, spoolDirectory } from "./body-spool.js";
import { openEngine } from "./chdb-engine.js";
import { type Listener, startListener } from "./clickhouse-listener.js";
import { isSidecarStart, SIDECAR_EXIT, type SidecarReport, type SidecarStart } from "./sidecar-messages.js";

/** One batch, and all bodies held at once. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const BODY_BUDGET_BYTES = 256 * 1024 * 1024;
/** Running inserts have this long to end; the supervisor kills after a little more. */
const STOP_WAIT_MS = 5_000;
/** A sidecar started without a parent that speaks ends itself. */
const START_WAIT_MS = 10_000;

/** A third of the gateway's weight where cores are short: it falls behind before prices do, but is not starved. */
const NICENESS = 5;

const user = "unwind";

const impatience = setTimeout(() => process.exit(SIDECAR_EXIT.fault), START_WAIT_MS);
/** Removes what lies in memory-backed files. */
let tidy = (): void => {};
/**
 * The parent was killed or has dropped us: nobody would stop this process later, and the next one waits for the
 * directory. At once, therefore: an orderly exit waits for the engine's own threads, which took minutes where one was
 * at work; what was acknowledged is in files, and the rest will be sent again.
 */
function endAtOnce(): void {
  tidy();
  process.kill(process.pid, "SIGKILL");
}
process.once("disconnect", endAtOnce);
// Gone before this module was loaded: its event is over.
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
  // However this process ends, short of being killed by others, it leaves nothing in memory-backed files.
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
 * Merges and parsing may use every core that is idle; where cores are short, prices go first. After the start, which
 * is to be quick. Niceness belongs to a thread and is inherited by those it makes, so each one there is gets it.
 */
function yieldToTheGateway(): void {
  try {
    for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), NICENESS);
  } catch {
    // Not this platform, or a thread that just ended: the rest runs as it is.
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
  // Whoever interrupts all processes of a service means the parent, which stops us in its own order.
  process.on("SIGINT", () => {});
}

function refuse(reason: Extract<SidecarReport, { kind: "refused" }>["reason"], text: string): void {
  report({ kind: "refused", reason, text }, () => process.exit(SIDECAR_EXIT[reason]));
}

function report(message: SidecarReport, then: () => void): void {
  if (process.send === undefined) then();
  else process.send(message, undefined, undefined, then);
}
