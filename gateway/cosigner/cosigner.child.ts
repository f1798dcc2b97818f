/**
 * Main of the co-signer that the service starts beside itself. What it needs comes in one message, and it ends with its
 * parent: a co-signer that nobody supervises would keep its store from the next one.
 */
import { createLogger, type LogLevel } from "../app/log.js";
import { type CosignerReport, isCosignerStart } from "../custody/cosigner-messages.js";
import { CosignerRefused } from "./cosigner.js";
import { type RunningCosigner, runCosigner } from "./run-cosigner.js";

const START_WAIT_MS = 10_000;
const EXIT = { stopped: 0, fault: 1, refused: 2 } as const;

let running: RunningCosigner | null = null;
let isStopping = false;
const impatience = setTimeout(() => process.exit(EXIT.fault), START_WAIT_MS);
// The clock's timers do not keep the process alive.
setInterval(() => {}, 3_600_000);

process.once("disconnect", stop);
if (process.connected === false) stop();
process.on("SIGTERM", stop);
// A signal to all processes of a service is meant for the parent, which stops this process in its own order.
process.on("SIGINT", () => {});
process.once("message", (message) => {
  clearTimeout(impatience);
  if (!isCosignerStart(message)) process.exit(EXIT.fault);
  const { directory, port, logLevel } = message;
  const logger = createLogger(logLevel as LogLevel);
  runCosigner({ directory, port, logger, onStoreFailure: () => process.exit(EXIT.fault) }).then(
    (started) => {
      running = started;
      if (isStopping) void ended(started);
      else report({ kind: "ready", port: started.port }, () => {});
    },
    (error: unknown) => {
      const text = error instanceof CosignerRefused ? error.message : error instanceof Error ? error.name : "unknown";
      const isFinal = error instanceof CosignerRefused && error.isFinal;
      report({ kind: "refused", text, isFinal }, () => process.exit(EXIT.refused));
    },
  );
});

function stop(): void {
  if (isStopping) return;
  isStopping = true;
  if (running !== null) void ended(running);
}

async function ended(started: RunningCosigner): Promise<void> {
  await started.stop().then(
    () => process.exit(EXIT.stopped),
    () => process.exit(EXIT.fault),
  );
}

function report(message: CosignerReport, then: () => void): void {
  if (process.send === undefined || !process.connected) then();
  else process.send(message, undefined, undefined, then);
}
