/**
 * The service of the environment, which stays as a process after it was stopped, so that its memory can be searched.
 * Reads commands, one a line, and answers each with a line: `gc`, `snapshot PATH`, `stop`.
 */
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { writeHeapSnapshot } from "node:v8";
import { readConfig } from "../../../gateway/app/config.js";
import { takeEnvironment } from "../../../gateway/app/process-environment.js";
import { createService, type Service } from "../../../gateway/app/wiring.js";

/** Apart: what a module that waits for ever has in its frame is reachable. */
function start(): Promise<Service> {
  const read = readConfig(takeEnvironment(process.env), (path) =>
    existsSync(path) ? readFileSync(path, "utf8") : null,
  );
  if (!read.ok) throw new Error(read.problems.join("; "));
  return createService(read.config);
}

const service = await start();
process.stdout.write(`ready ${service.url}\n`);

for await (const line of createInterface(process.stdin)) {
  const [command, path = ""] = line.split(" ");
  if (command === "stop") await service.stop();
  // Twice: the first frees what was waiting for it.
  for (let index = 0; index < 2; index++) globalThis.gc?.();
  if (command === "snapshot") writeHeapSnapshot(path);
  process.stdout.write(`done ${command}\n`);
}
